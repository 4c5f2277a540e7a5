"""What an epoch does to the world, in the order that makes it safe, whatever the table holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from aiokafka.partitioner import murmur2

from streams.domain.outgoing import NO_HEADERS, Outgoing
from streams.domain.run import Run
from streams.engine.crash_point import CrashPoint
from streams.engine.producer import RunProducer, Sent, all_acknowledged
from streams.engine.table import StateTable, View

V = TypeVar("V")


class Effects(Generic[V]):
    """Publishes an epoch's outputs, then makes its changes durable.

    Args:
        table: Whose values the epoch changes.
        producer: Must acknowledge with ``acks=all``.
        reach: Told each stage.
        by_key: The topics whose records go where their key says, and how each is called on the broker. The
            records of all others keep the partition number of their source.
    """

    def __init__(
        self,
        *,
        table: StateTable[V],
        producer: RunProducer,
        reach: Callable[[CrashPoint], None],
        by_key: Mapping[str, str] | None = None,
    ) -> None:
        self._table = table
        self._producer = producer
        self._reach = reach
        self._by_key = by_key or {}
        self._partition_counts: dict[str, int] = {}

    async def publish(self, source_partition: int, outputs: Mapping[str, Sequence[Outgoing]]) -> None:
        """Write the outputs and return when the broker has acknowledged them all."""
        sent: list[Sent] = []
        for topic, records in outputs.items():
            name = self._by_key.get(topic)
            if name is None:
                # No hash is computed: whatever partitioner the producers use, a session's outputs stand
                # where its input stood, in order.
                partition = source_partition % await self._count(topic)
                sent.append(await self._producer.publish(topic, partition, records))
            else:
                for partition, part in _by_hash(records, await self._count(name)).items():
                    sent.append(await self._producer.publish(name, partition, part))
        self._reach(CrashPoint.OUTPUTS_SENT)
        await all_acknowledged(sent)
        self._reach(CrashPoint.OUTPUTS_ACKED)

    async def persist(self, run: Run, view: View[V]) -> None:
        """Write what the epoch changed, if anything: to the changelog, and then to RocksDB."""
        if not view.changed:
            return
        table, timestamp = self._table, run.messages[-1].timestamp
        key, encode = table.form.key, table.form.encode
        items = [(key(name), encode(value)) for name, value in view.changed.items()]
        records = ((key, value, timestamp, NO_HEADERS) for key, value in items)
        sent = await self._producer.publish(table.changelog_topic_name, run.partition, records)
        self._reach(CrashPoint.CHANGELOG_SENT)
        offset = await sent.acknowledged()
        self._reach(CrashPoint.CHANGELOG_ACKED)
        table.write(run.partition, view, items, offset)
        self._reach(CrashPoint.STORED)

    async def _count(self, topic: str) -> int:
        count = self._partition_counts.get(topic)
        if count is None:
            count = self._partition_counts[topic] = await self._producer.partition_count(topic)
        return count


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
