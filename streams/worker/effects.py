"""What an epoch comes to, and where it goes: the seam between deciding and delivering.

An epoch decides in memory what has to be in Kafka and in RocksDB. In which order it gets there, and what is
there after a crash, is the processing guarantee's: `at_least_once` or `exactly_once`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from aiokafka.partitioner import murmur2

from streams.core.domain.record import Headers, Outgoing
from streams.core.domain.run import Run
from streams.worker.delivery.producer import WrittenBatch
from streams.worker.state.table import StateTable, StateView

V = TypeVar("V")

Items = list[tuple[bytes, bytes | None]]
"""Keys and values as they stand in the changelog and in RocksDB; None deletes."""


class Consumed(NamedTuple):
    """How far a source partition is processed: ``offset`` is that of the next record."""

    topic: str
    partition: int
    offset: int

    @classmethod
    def by(cls, run: Run) -> Consumed:
        """Return how far ``run`` goes."""
        return cls(run.topic, run.partition, run.next_offset)


@dataclass(frozen=True, slots=True)
class BatchOutput(Generic[V]):
    """The outcome of an epoch; nothing of it is done yet.

    Attributes:
        partition: The partition of the source, the table and its changelog.
        view: With the values that changed.
        outputs: By topic, in order.
        marks: Changelog items that must not be durable before the values are.
        elsewhere: Outputs that belong to other partitions of the source of sessions, by these: alerts stand
            where the other records of their session do.
        settings: Changelog items that must be durable before the first output under them.
        consumed: How far the source is processed by this; None where nothing of it was read.
    """

    partition: int
    view: StateView[V]
    outputs: Mapping[str, Sequence[Outgoing]] = field(default_factory=dict)
    settings: Sequence[tuple[bytes, bytes | None]] = ()
    consumed: Consumed | None = None
    elsewhere: Mapping[int, Mapping[str, Sequence[Outgoing]]] = field(default_factory=dict)
    marks: Sequence[tuple[bytes, bytes | None]] = ()


class Effects(Protocol[V]):
    """Carries outcomes out under one processing guarantee."""

    async def carry_out(self, outcome: BatchOutput[V]) -> None:
        """Do all of it; returns when the run may be acknowledged.

        Raises:
            InfrastructureError: the broker or the disk failed. The worker has to stop.
            ProducerFencedError: another worker owns the partition. Nothing was done; the run is not
                acknowledged.
        """


class Routes:
    """Where records go.

    Args:
        partition_count: Asks the brokers how many partitions a topic has.
        by_key: The topics whose records go where their key says, and how each is called on the broker. The
            records of all others keep the partition number of their source.
        topic_prefix: Before the names of those others.
    """

    def __init__(
        self,
        partition_count: Callable[[str], Awaitable[int]],
        by_key: Mapping[str, str] | None = None,
        topic_prefix: str = "",
    ) -> None:
        self._ask = partition_count
        self._by_key = by_key or {}
        self._topic_prefix = topic_prefix
        self._counts: dict[str, int] = {}

    async def of_outcome(self, outcome: BatchOutput[V]) -> list[tuple[str, int, Sequence[Outgoing]]]:
        """Return the outputs of an epoch by topic and partition, in their order."""
        routed = await self.of(outcome.partition, outcome.outputs)
        for partition, outputs in outcome.elsewhere.items():
            routed += await self.of(partition, outputs)
        return routed

    async def of(
        self, source_partition: int, outputs: Mapping[str, Sequence[Outgoing]]
    ) -> list[tuple[str, int, Sequence[Outgoing]]]:
        """Return the records by topic and partition, in their order."""
        routed: list[tuple[str, int, Sequence[Outgoing]]] = []
        for topic, records in outputs.items():
            name = self._by_key.get(topic)
            if name is None:
                # No hash is computed: whatever partitioner the producers use, a session's outputs stand
                # where its input stood, in order.
                named = f"{self._topic_prefix}{topic}"
                routed.append((named, source_partition % await self._count(named), records))
            else:
                parts = _by_hash(records, await self._count(name))
                routed += ((name, partition, part) for partition, part in parts.items())
        return routed

    async def _count(self, topic: str) -> int:
        count = self._counts.get(topic)
        if count is None:
            count = self._counts[topic] = await self._ask(topic)
        return count


def changes(table: StateTable[V], view: StateView[V]) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the changelog items: changes in the order of the source (`TableFormat.order`), then removals."""
    key, encode, order = table.form.key, table.form.encode, table.form.order
    for name, value in sorted(view.changed.items(), key=lambda item: order(item[1])):
        yield key(name), encode(value)
    for name in view.removed:
        yield key(name), None


def tombstone_headers(table: StateTable[V], view: StateView[V]) -> dict[bytes, Headers]:
    """Return the headers of the tombstones of what went, by key (`TableFormat.tombstone_headers`)."""
    key, grave = table.form.key, table.form.tombstone_headers
    return {key(name): grave(value) for name, value in view.removed.items()}


def in_batches(
    items: Items, batches: Sequence[WrittenBatch], sent_ms: int
) -> Iterator[tuple[Items, int, int]]:
    """Yield changelog items by the batch they were written in, with its last offset and its time (ms).

    State that no record touches expires by that time, so the database has to have the very one that a restore
    reads.

    Args:
        items: As they were sent.
        batches: Where they stand; the first may have begun with records of others.
        sent_ms: The time of the records themselves, where the changelog goes by that.
    """
    ends: list[tuple[int, int, WrittenBatch]] = []
    end = len(items)
    for batch in reversed(batches):
        begin = max(0, end - batch.records)
        ends.append((begin, end, batch))
        end = begin
    for begin, end, batch in reversed(ends):
        at_ms = sent_ms if batch.appended_ms is None else batch.appended_ms
        yield items[begin:end], batch.offset, at_ms


def store(
    table: StateTable[V], outcome: BatchOutput[V], items: Items, batches: Sequence[WrittenBatch], sent_ms: int
) -> None:
    """Store what an epoch has written to the changelog; arguments as `in_batches` takes them.

    A crash between two batches leaves a database that is complete up to the first.
    """
    *before, last = in_batches(items, batches, sent_ms)
    for number, part in enumerate(before):
        table.put(outcome.partition, *part, goes_on=number > 0)
    table.write(outcome.partition, outcome.view, *last, goes_on=bool(before))


def key_partition(key: bytes | None, partitions: int) -> int:
    """Return where Kafka's default partitioner puts a record with this key.

    >>> [key_partition(key, 16) for key in (b"planner", b"tool/shell", b"writer")]
    [9, 1, 2]
    """
    hashed: int = murmur2(key or b"")
    return (hashed & 0x7FFFFFFF) % partitions


def _by_hash(records: Sequence[Outgoing], partitions: int) -> dict[int, list[Outgoing]]:
    parts: dict[int, list[Outgoing]] = {}
    for record in records:
        parts.setdefault(key_partition(record.key, partitions), []).append(record)
    return parts
