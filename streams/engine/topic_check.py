"""Before the start: the topics are there, and those that belong together have the same partitions."""

from __future__ import annotations

from streams import aggregation, job
from streams.domain.topic import Topic
from streams.engine.client import connect
from streams.engine.options import AGGREGATES, EngineOptions, changelog_topic, repartition_topic
from streams.errors import ConfigurationError

_OUTPUTS = (*job.OUTPUTS, *aggregation.OUTPUTS, Topic.DEAD_LETTERS)


async def check_topics(options: EngineOptions) -> None:
    """Refuse to start on topics that do not fit.

    Raises:
        BrokerUnreachableError: no broker answers.
        ConfigurationError: a topic is missing, or a changelog is not co-partitioned with its source.
    """
    group = options.application_id
    changelogs = {
        str(Topic.DECISION_LOGS): changelog_topic(group),
        repartition_topic(group): changelog_topic(group, AGGREGATES),
    }
    settings = (str(Topic.DETECTOR_CONFIG), str(Topic.SHADOW_CONFIG))
    wanted = [*changelogs, *settings, *changelogs.values(), *map(str, _OUTPUTS)]
    async with connect(options.connection) as brokers:
        counts = await brokers.partition_counts(wanted)
    if missing := [topic for topic in wanted if topic not in counts]:
        raise ConfigurationError(
            f"The brokers have no topic {', '.join(missing)}. Create the topics with `eddy topics apply`."
        )
    for source, changelog in changelogs.items():
        if counts[source] != counts[changelog]:
            raise ConfigurationError(
                f"{source} has {counts[source]} partitions and {changelog} has {counts[changelog]}; they "
                "must have the same number. A partition count cannot change under existing state: start "
                "under a new EDDY_APPLICATION_ID, whose changelog `eddy topics apply` creates to fit."
            )
