"""Dead letters by their places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable

from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers, Stored


async def letters_at(brokers: Brokers, places: Iterable[tuple[int, int]]) -> AsyncIterator[Stored]:
    """Yield the records at some places of the dead-letter topic, as far as they are there, in their order.

    Args:
        brokers: Where the topic is.
        places: Partition and offset of each.
    """
    named: dict[int, set[int]] = defaultdict(set)
    for partition, offset in places:
        named[partition].add(offset)
    topic = brokers.topic(Topic.DEAD_LETTERS)
    partitions = (await brokers.partition_counts([topic])).get(topic, 0)
    for partition, offsets in sorted(named.items()):
        if partition < partitions:
            async for stored in _of_partition(brokers, topic, partition, offsets):
                yield stored


async def _of_partition(
    brokers: Brokers, topic: str, partition: int, offsets: set[int]
) -> AsyncIterator[Stored]:
    missing = set(offsets)
    async for stored in brokers.read_range(topic, partition, min(offsets), max(offsets) + 1):
        if stored.offset in missing:
            missing.discard(stored.offset)
            yield stored
    if not missing:
        return
    # Some brokers say that a partition ends inside its last batch: from the beginning they give it all.
    async for stored in brokers.read(topic, [partition]):
        if stored.offset in missing:
            yield stored
