"""The topics of one job: the catalogue, with the changelog named after the job's application id."""

from __future__ import annotations

from dataclasses import replace

from streams.engine.options import changelog_topic
from topics.catalogue import Catalogue


def job_topics(application_id: str, *, partitions: int, replicas: int) -> Catalogue:
    """Return the topics a job needs on a cluster of this size.

    >>> job_topics("eddy-2", partitions=4, replicas=1)["eddy-2-sessions-changelog"].partitions
    4
    """
    loaded = Catalogue.load(partitions=partitions, replicas=replicas)
    return Catalogue(
        tuple(
            replace(topic, name=changelog_topic(application_id)) if topic.internal else topic
            for topic in loaded.topics
        )
    )
