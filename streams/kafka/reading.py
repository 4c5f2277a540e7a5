"""Reading topics outside any group: whole, in part, or for ever. Only what is committed is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TypeAlias

from aiokafka import TopicPartition

from streams.core.domain.unreadable import Unreadable
from streams.core.errors import ConfigurationError
from streams.kafka.answers import answered
from streams.kafka.connection import Connection
from streams.kafka.groupless import groupless_consumer
from streams.kafka.partition import partition_of
from streams.kafka.patches.careful_fetch import CarefulConsumer
from streams.kafka.readable import readable
from streams.kafka.runs import OffsetRun, read_runs
from streams.kafka.stored import Stored
from streams.kafka.tail import Tail

_POLL_MS = 500

#: Returns the number of partitions of those of the topics that exist.
PartitionCounts: TypeAlias = Callable[[Iterable[str]], Awaitable[dict[str, int]]]


class TopicReading:
    """The half of `Brokers` that reads.

    Args:
        connection: How to reach the brokers.
        partition_counts: Asked for the partitions: a consumer knows no topic that it is not assigned.
    """

    def __init__(self, connection: Connection, partition_counts: PartitionCounts) -> None:
        self._connection = connection
        self._counts = partition_counts

    async def read(self, topic: str, partitions: Iterable[int] | None = None) -> AsyncGenerator[Stored]:
        """Yield the records of a topic from its beginning to what was its end at the call, by partition.

        Here and below only what is committed is read: not what an aborted transaction wrote, and of an open
        one nothing. Who may stop early closes it (`contextlib.aclosing`): left to the end of the event loop,
        a generator and the one that it reads from are closed in any order, and complain.
        """
        tps = await self._partitions(topic)
        if partitions is not None:
            tps = [TopicPartition(topic, partition) for partition in sorted(set(partitions))]
        async with groupless_consumer(self._connection) as consumer:
            begin, end = await consumer.beginning_offsets(tps), await consumer.end_offsets(tps)
            for tp in tps:
                if begin[tp] < end[tp]:  # else it is empty, and a fetch would wait for its first record
                    async with aclosing(_partition(consumer, tp, end[tp])) as records:
                        async for record in records:
                            yield record

    async def offsets_at(self, topic: str, timestamp: int) -> dict[int, int]:
        """Return by partition the offset of the first record from ``timestamp`` (ms) on, or the end.

        Raises:
            InfrastructureError: the brokers do not answer.
        """
        with answered(f"how old the records of {topic} are"):
            tps = await self._partitions(topic)
            async with groupless_consumer(self._connection) as consumer:
                consumer.assign(tps)
                # The ends first: what is written between the two questions must not be passed over.
                end = await consumer.end_offsets(tps)
                found = await consumer.offsets_for_times(dict.fromkeys(tps, timestamp))
        return {tp.partition: end[tp] if found[tp] is None else found[tp].offset for tp in tps}

    async def read_range(
        self, topic: str, partition: int, start: int = 0, stop: int | None = None
    ) -> AsyncGenerator[Stored]:
        """Yield the records of a partition from ``start`` to before ``stop``, by default what is its end now.

        What the topic no longer holds is left out.
        """
        tp = TopicPartition(topic, partition)
        with answered(f"what stands in {topic}"):
            async with groupless_consumer(self._connection) as consumer:
                begin = (await consumer.beginning_offsets([tp]))[tp]
                end = (await consumer.end_offsets([tp]))[tp]
                if begin == end or (stop is not None and stop <= max(start, begin)):
                    return  # empty, and a fetch would wait for its first record
                consumer.assign([tp])
                # Some brokers tell the beginning of the last batch for its end: a fetch there tells better.
                consumer.seek(tp, max(begin, min(start, end - 1)))
                while True:
                    fetched = await consumer.getmany(tp, timeout_ms=_POLL_MS)
                    # Later fetches would chase an end that moves on.
                    known: int | None = consumer.last_stable_offset(tp)
                    end = max(end, known or 0)
                    stop = end if stop is None and known is not None else stop
                    for record in readable(tp, fetched):
                        if stop is not None and record.offset >= stop:
                            return
                        if record.offset >= start:
                            yield record
                    if stop is not None and await consumer.position(tp) >= min(stop, end):
                        return

    async def ends(self, topic: str) -> dict[int, int]:
        """Return by partition the offset after the last record; some brokers tell a lower one."""
        tps = await self._partitions(topic)
        with answered(f"where {topic} ends"):
            async with groupless_consumer(self._connection) as consumer:
                found = await consumer.end_offsets(tps)
        return {tp.partition: end for tp, end in found.items()}

    async def read_runs(
        self,
        topic: str,
        wanted: Sequence[OffsetRun],
        keep: Callable[[Stored], bool],
        *,
        seats: asyncio.Semaphore,
        done: Callable[[OffsetRun], None],
    ) -> list[Stored]:
        """Return some records of short stretches of a topic, see `streams.kafka.runs.read_runs`.

        Raises:
            InfrastructureError: the brokers refuse.
        """
        return await read_runs(self._connection, topic, wanted, keep, seats, done)

    async def _partitions(self, topic: str) -> list[TopicPartition]:
        with answered(f"how many partitions {topic} has"):
            counts = await self._counts([topic])
        if topic not in counts:
            raise ConfigurationError(
                f"There is no topic {topic}. Create the topics with `eddy topics apply`."
            )
        return [TopicPartition(topic, partition) for partition in range(counts[topic])]

    async def likely_partitions(self, topic: str, key: bytes) -> list[int]:
        """Return the partitions of a topic, the one first that Kafka's own clients choose for the key."""
        partitions = [tp.partition for tp in await self._partitions(topic)]
        chosen = partition_of(key, len(partitions))
        return [chosen, *(partition for partition in partitions if partition != chosen)]

    async def follow(self, topics: Iterable[str]) -> AsyncIterator[tuple[str, Stored]]:
        """Yield (topic, record) from the beginning of ``topics`` on, for ever."""
        counts = await self._counts(topics)
        async with groupless_consumer(self._connection) as consumer:
            consumer.assign(
                [
                    TopicPartition(topic, partition)
                    for topic, count in counts.items()
                    for partition in range(count)
                ]
            )
            while True:
                fetched = await consumer.getmany(timeout_ms=_POLL_MS)
                for tp in fetched:
                    for record in readable(tp, fetched):
                        yield tp.topic, record

    def tail(self, positions: Mapping[tuple[str, int], int], *, max_records: int = 5_000) -> Tail:
        """Return an iterator over the records of these partitions from these offsets on, for ever.

        Args:
            positions: Offset to begin at by topic and partition. What a topic no longer holds is left out.
            max_records: How many records one step returns at most.
        """
        return Tail(self._connection, positions, max_records)

    async def read_ranges(
        self, ranges: Mapping[tuple[str, int], tuple[int, int]], *, max_records: int = 5_000
    ) -> AsyncIterator[tuple[list[tuple[str, Stored]], list[tuple[str, int, Unreadable]]]]:
        """Yield what stands in parts of partitions, side by side: batches, and what of them cannot be read.

        Args:
            ranges: First offset, and the one behind the last, by topic and partition.
            max_records: How many records are yielded at once at most.
        """
        left = {place: stop for place, (start, stop) in ranges.items() if start < stop}
        tail = self.tail({place: ranges[place][0] for place in left}, max_records=max_records)
        try:
            while left:
                batch = [
                    each for each in await anext(tail) if each[1].offset < left[each[0], each[1].partition]
                ]
                yield batch, [each for each in tail.unreadable if each[2].offset < left[each[:2]]]
                for place in [place for place, stop in left.items() if tail.positions[place] >= stop]:
                    del left[place]
                    tail.leave(*place)
        finally:
            await tail.aclose()


async def _partition(consumer: CarefulConsumer, tp: TopicPartition, end: int) -> AsyncGenerator[Stored]:
    consumer.assign([tp])
    await consumer.seek_to_beginning(tp)
    while True:
        fetched = await consumer.getmany(tp, timeout_ms=_POLL_MS)
        for record in readable(tp, fetched):
            yield record
        # Not the high watermark: behind an open transaction nothing is to be read yet.
        stable = consumer.last_stable_offset(tp)
        if stable is not None and await consumer.position(tp) >= max(end, stable):
            return
