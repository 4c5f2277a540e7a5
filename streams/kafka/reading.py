"""Reading topics outside any group: whole, in part, in stretches, or for ever. Committed records only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Final, NamedTuple, Self, TypeAlias

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError
from aiokafka.partitioner import murmur2

from streams.core.domain.record import Unreadable
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.connection import READ_COMMITTED, Connection
from streams.kafka.patches.bootstrap import stop_wholly
from streams.kafka.patches.careful_fetch import CarefulConsumer
from streams.kafka.patches.fetching import fetch_positions
from streams.kafka.stored import Stored, answered, readable


@asynccontextmanager
async def groupless_consumer(
    connection: Connection, *, fetch_bytes: int = 8 << 20
) -> AsyncIterator[CarefulConsumer]:
    """Yield a consumer that nothing is assigned to yet; it fetches so many bytes of a partition at once."""
    consumer = CarefulConsumer(
        max_batch_bytes=connection.max_batch_bytes,
        **connection.consumer_options(),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level=READ_COMMITTED,
        fetch_max_wait_ms=100,
        max_partition_fetch_bytes=fetch_bytes,
    )
    try:
        await consumer.start()
        yield consumer
    finally:
        await stop_wholly(consumer.stop())


_RUN_POLL_MS: Final = 500
_READERS: Final = 4
#: A stretch is short, and what comes behind it is of no use.
_RUN_FETCH_BYTES: Final = 256 << 10


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
                async with groupless_consumer(connection, fetch_bytes=_RUN_FETCH_BYTES) as consumer:
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
        fetched = await consumer.getmany(tp, timeout_ms=_RUN_POLL_MS)
        records += [record for record in readable(tp, fetched) if run.start <= record.offset < run.stop]
        if await consumer.position(tp) >= run.stop:
            return records


log = logging.getLogger(__name__)

_TAIL_POLL_MS = 500
#: From each of a hundred partitions or more, so not as much as where one is read at a time.
_TAIL_FETCH_BYTES = 1 << 20
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 10.0


class Tail:
    """An iterator over batches of (topic, record), without end. A batch may be empty. Close it after use.

    Brokers that go away are waited for: the iteration goes on from where it was, and repeats nothing.

    Attributes:
        positions: By topic and partition, the offset after what the batches so far held. It also passes what
            is no record: markers of transactions, and records that cannot be read.
        ends: By topic and partition, what the brokers reported as the end at the newest fetch.
        answered: By topic and partition, when the newest answer to a fetch of it came, ms since 1970.
        unreadable: What could not be read of the newest batch, with its topic and partition.
    """

    def __init__(
        self, connection: Connection, positions: Mapping[tuple[str, int], int], max_records: int
    ) -> None:
        self._connection = connection
        self._max_records = max_records
        self._opened: AbstractAsyncContextManager[CarefulConsumer] | None = None
        self._consumer: CarefulConsumer | None = None
        self._pause = _FIRST_PAUSE_SECONDS
        self.positions = dict(positions)
        self.ends: dict[tuple[str, int], int] = {}
        self.answered: dict[tuple[str, int], int] = {}
        self.unreadable: list[tuple[str, int, Unreadable]] = []

    def __aiter__(self) -> Self:
        """Return itself."""
        return self

    async def __anext__(self) -> list[tuple[str, Stored]]:
        """Return the next records, none if there are none for half a second.

        Raises:
            InfrastructureError: the brokers do not let this user read a topic.
        """
        self.unreadable = []
        if not self.positions:
            await asyncio.sleep(_TAIL_POLL_MS / 1_000)
            return []
        try:
            consumer = self._consumer or await self._open()
            fetched: Mapping[TopicPartition, Sequence[Stored | Unreadable]] = await consumer.getmany(
                timeout_ms=_TAIL_POLL_MS, max_records=self._max_records
            )
        except TopicAuthorizationFailedError as error:
            raise InfrastructureError(
                f"The brokers do not let this user read {error}. Allow Read and Describe on it."
            ) from error
        except (KafkaError, OSError) as error:
            await self._wait(error)
            return []
        self._pause = _FIRST_PAUSE_SECONDS
        return self._taken(consumer, fetched)

    def leave(self, topic: str, partition: int) -> None:
        """Read no more of a partition."""
        del self.positions[topic, partition]
        if self._consumer is not None:
            self._consumer.pause(TopicPartition(topic, partition))

    async def aclose(self) -> None:
        """Close the connection; the iteration may go on after it."""
        opened, self._opened, self._consumer = self._opened, None, None
        if opened is not None:
            await opened.__aexit__(None, None, None)

    async def _open(self) -> CarefulConsumer:
        opened = groupless_consumer(self._connection, fetch_bytes=_TAIL_FETCH_BYTES)
        consumer = await opened.__aenter__()
        self._opened, self._consumer = opened, consumer
        consumer.assign([TopicPartition(*each) for each in self.positions])
        for (topic, partition), offset in self.positions.items():
            consumer.seek(TopicPartition(topic, partition), offset)
        return consumer

    async def _wait(self, error: Exception) -> None:
        if self._pause == _FIRST_PAUSE_SECONDS:
            log.warning("The brokers do not answer (%r). They are asked again until they do.", error)
        await self.aclose()
        await asyncio.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)

    def _taken(
        self, consumer: CarefulConsumer, fetched: Mapping[TopicPartition, Sequence[Stored | Unreadable]]
    ) -> list[tuple[str, Stored]]:
        batch: list[tuple[str, Stored]] = []
        for tp, records in fetched.items():
            if (tp.topic, tp.partition) not in self.positions:
                continue  # it was left
            batch += [(tp.topic, record) for record in readable(tp, fetched)]
            self.unreadable += [
                (tp.topic, tp.partition, record) for record in records if isinstance(record, Unreadable)
            ]
        tps = [TopicPartition(*each) for each in self.positions]
        for tp, position in fetch_positions(consumer, tps).items():
            self.positions[tp.topic, tp.partition] = position
            end = consumer.last_stable_offset(tp)
            if end is not None and end >= 0:
                self.ends[tp.topic, tp.partition] = end
            if (answered := consumer.last_poll_timestamp(tp)) is not None:
                self.answered[tp.topic, tp.partition] = answered
        return batch


_POSITIVE = 0x7FFFFFFF


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key on a topic with so many; librdkafka's default is another one.

    >>> [partition_of(key, 8) for key in (b"s-17", b"agent/coder-7", b"all")]
    [3, 2, 0]
    """
    return int(murmur2(key) & _POSITIVE) % partitions


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
        """Return some records of short stretches of a topic, see `streams.kafka.reading.read_runs`.

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
