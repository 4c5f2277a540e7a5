"""Reading short stretches here and there of a topic, a few at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from aiokafka import TopicPartition

from streams.kafka.answers import answered
from streams.kafka.connection import Connection
from streams.kafka.groupless import groupless_consumer
from streams.kafka.patches.careful_fetch import CarefulConsumer
from streams.kafka.readable import readable
from streams.kafka.stored import Stored

_POLL_MS: Final = 500
_READERS: Final = 4
#: A stretch is short, and what comes behind it is of no use.
_FETCH_BYTES: Final = 256 << 10


class OffsetRun(NamedTuple):
    """A stretch of a partition: from ``start`` to before ``stop``."""

    partition: int
    start: int
    stop: int


def runs(places: Iterable[tuple[int, int]], closer: int) -> list[OffsetRun]:
    """Return the stretches that hold places; those closer than so many records to one another share one.

    >>> [tuple(run) for run in runs([(0, 5), (0, 7), (0, 900), (1, 901)], closer=200)]
    [(0, 5, 8), (0, 900, 901), (1, 901, 902)]
    """
    found: list[OffsetRun] = []
    for partition, offset in sorted(places):
        if found and found[-1].partition == partition and offset - found[-1].stop < closer:
            found[-1] = found[-1]._replace(stop=offset + 1)
        else:
            found.append(OffsetRun(partition, offset, offset + 1))
    return found


async def read_runs(
    connection: Connection,
    topic: str,
    wanted: Sequence[OffsetRun],
    keep: Callable[[Stored], bool],
    seats: asyncio.Semaphore,
    done: Callable[[OffsetRun], None],
) -> list[Stored]:
    """Return the records of some stretches that are to be kept, in any order.

    What the topic no longer holds is left out. It waits for brokers that are away: limit its time.

    Args:
        connection: How to reach the brokers.
        topic: The topic, as it is called on these brokers.
        wanted: The stretches, all of which were written.
        keep: Whether a record is kept.
        seats: How many stretches are read at once at most, by all who share it.
        done: Called with each stretch that was read.

    Raises:
        InfrastructureError: the brokers refuse.
    """
    waiting, found = list(reversed(wanted)), list[Stored]()

    async def read() -> None:
        async with seats:
            if not waiting:
                return
            with answered(f"what stands in {topic}"):
                async with groupless_consumer(connection, fetch_bytes=_FETCH_BYTES) as consumer:
                    while waiting:
                        run = waiting.pop()
                        found.extend(each for each in await _read(consumer, topic, run) if keep(each))
                        done(run)

    readers = [asyncio.create_task(read()) for _ in range(min(_READERS, len(wanted)))]
    try:
        await asyncio.gather(*readers)
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
    return found


async def _read(consumer: CarefulConsumer, topic: str, run: OffsetRun) -> list[Stored]:
    tp = TopicPartition(topic, run.partition)
    consumer.assign([tp])
    consumer.seek(tp, run.start)
    records: list[Stored] = []
    while True:
        fetched = await consumer.getmany(tp, timeout_ms=_POLL_MS)
        records += [record for record in readable(tp, fetched) if run.start <= record.offset < run.stop]
        if await consumer.position(tp) >= run.stop:
            return records
