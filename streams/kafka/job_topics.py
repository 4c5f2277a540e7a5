"""The topics of one job: the catalogue, under the names they have on the brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from streams.core.domain.topic import Topic
from topics.catalogue import Catalogue, TopicSpec

_OF_EDDY = "eddy-"


def job_topics(
    application_id: str,
    topic_prefix: str = "",
    *,
    partitions: int,
    replicas: int,
    span_partitions: int | None = None,
) -> Catalogue:
    """Return the topics a job needs on a cluster of this size.

    Args:
        application_id: The job's name, at the beginning of its internal topics.
        topic_prefix: Before the names of all others.
        partitions: The partitions of the session topics.
        replicas: The replicas of every topic.
        span_partitions: The partitions of the topic of spans, where another program has created it.

    >>> job_topics("eddy-2", partitions=4, replicas=1)["eddy-2-sessions-changelog"].partitions
    4
    """
    loaded = Catalogue.load(partitions=partitions, replicas=replicas)
    own = {
        topic.name: f"{application_id}-{topic.name.removeprefix(_OF_EDDY)}"
        if topic.internal
        else f"{topic_prefix}{topic.name}"
        for topic in loaded.topics
    }
    return Catalogue(tuple(_renamed(topic, own) for topic in _with_spans(loaded.topics, span_partitions)))


def _with_spans(topics: Iterable[TopicSpec], partitions: int | None) -> Iterable[TopicSpec]:
    for topic in topics:
        of_spans = Topic.OTLP_SPANS in {topic.name, topic.co_partitioned_with}
        yield replace(topic, partitions=partitions) if of_spans and partitions else topic


def _renamed(topic: TopicSpec, own: Mapping[str, str]) -> TopicSpec:
    partner = topic.co_partitioned_with
    return replace(
        topic,
        name=own[topic.name],
        co_partitioned_with=None if partner is None else own[partner],
    )
