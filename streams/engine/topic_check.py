"""Before the start: the topics are there, and those that belong together have the same partitions."""

from __future__ import annotations

import logging

from streams import aggregation, job
from streams.domain.topic import Topic
from streams.engine.client import Brokers, connect
from streams.engine.job_topics import job_topics
from streams.engine.options import EngineOptions, changelogs, repartition_topic
from streams.errors import ConfigurationError, InfrastructureError

log = logging.getLogger(__name__)

_LARGEST = "max.message.bytes"

#: What the job writes to, besides its internal topics.
OUTPUTS = (*job.OUTPUTS, *aggregation.OUTPUTS, Topic.DEAD_LETTERS)


async def check_topics(options: EngineOptions) -> dict[str, int]:
    """Refuse to start on topics that do not fit; return how many bytes a record may have, by topic.

    Of all topics that the job writes to.

    Raises:
        BrokerUnreachableError: no broker answers.
        ConfigurationError: a topic is missing, a changelog is not co-partitioned with its source, or a topic
            does not take the batches that the job writes.
    """
    group = options.application_id
    pairs = changelogs(group)
    settings = (str(Topic.DETECTOR_CONFIG), str(Topic.SHADOW_CONFIG))
    wanted = [*pairs, *settings, *pairs.values(), *map(str, OUTPUTS)]
    async with connect(options.connection) as brokers:
        counts = await brokers.partition_counts(wanted)
        written = [*map(str, OUTPUTS), *pairs.values(), repartition_topic(group)]
        largest = await _largest(brokers, written, group)
    if missing := [topic for topic in wanted if topic not in counts]:
        raise ConfigurationError(
            f"The brokers have no topic {', '.join(missing)}. Create the topics with `eddy topics apply`."
        )
    for source, changelog in pairs.items():
        if counts[source] != counts[changelog]:
            raise ConfigurationError(
                f"{source} has {counts[source]} partitions and {changelog} has {counts[changelog]}; they "
                "must have the same number. A partition count cannot change under existing state: start "
                "under a new EDDY_APPLICATION_ID, whose changelog `eddy topics apply` creates to fit."
            )
    batch = options.faust.get("producer_max_batch_size", 0)
    if small := sorted(topic for topic, size in largest.items() if size < batch):
        raise ConfigurationError(
            f"{', '.join(small)}: takes {min(largest[topic] for topic in small)} bytes at once "
            f"(max.message.bytes), a batch of the job has up to {batch}. Raise it with `eddy topics apply`, "
            "or lower EDDY_PRODUCER_MAX_BATCH_BYTES."
        )
    return largest


async def _largest(brokers: Brokers, topics: list[str], group: str) -> dict[str, int]:
    """Return what each topic takes, in bytes; what it should take where we may not read its config."""
    try:
        described = await brokers.describe(topics)
    except InfrastructureError as error:
        log.warning("The sizes that topics take cannot be read, those of the catalogue count. %s", error)
        described = []
    found = {topic.name: topic.config.get(_LARGEST, "") for topic in described}
    known = {name: int(size) for name, size in found.items() if size.isdigit()}
    wanted = job_topics(group, partitions=1, replicas=1)
    return {topic: known.get(topic) or int(wanted[topic].config[_LARGEST]) for topic in topics}
