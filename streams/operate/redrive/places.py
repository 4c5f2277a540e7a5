"""Dead letters by their places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers, Stored


async def letters_at(brokers: Brokers, places: Iterable[tuple[int, int]]) -> AsyncGenerator[Stored]:
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
            async with aclosing(_of_partition(brokers, topic, partition, offsets)) as records:
                async for stored in records:
                    yield stored


async def _of_partition(
    brokers: Brokers, topic: str, partition: int, offsets: set[int]
) -> AsyncGenerator[Stored]:
    missing = set(offsets)
    async with aclosing(brokers.read_range(topic, partition, min(offsets), max(offsets) + 1)) as records:
        async for stored in records:
            if stored.offset in missing:
                missing.discard(stored.offset)
                yield stored
    if not missing:
        return
    # Some brokers say that a partition ends inside its last batch: from the beginning they give it all.
    async with aclosing(brokers.read(topic, [partition])) as records:
        async for stored in records:
            if stored.offset in missing:
                yield stored
