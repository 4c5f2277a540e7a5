"""Delivery by transactions: everything an epoch comes to is committed at once, or not at all.

    begin       of a transaction, on the producer of the table and source partition
    send        the settings, the outputs, the changelog records: all on their way at the same time
    offsets     of the source, into the same transaction
    commit      everything is visible to readers of committed records, and the source is processed so far
    store       one RocksDB batch holds the values and the changelog offset
    (ack)       the lane acknowledges the run

A crash before the commit leaves records that readers of committed records never see: the next owner of the
partition aborts them by starting the same producer, and processes the run again. After the commit there is
nothing to repeat: what RocksDB lacks is restored from the changelog. RocksDB is never ahead of the changelog.

A worker that was taken for dead is fenced: its transaction fails, its run is abandoned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

from streams.core.domain.record import NO_HEADERS
from streams.kafka.clock import ClusterClock
from streams.worker.crash_point import CrashPoint
from streams.worker.delivery.storable import storable
from streams.worker.delivery.transactions import TransactionBatch, Transactions
from streams.worker.effects import BatchOutput, Consumed, Routes, changes, store, tombstone_headers
from streams.worker.state.table import StateTable

V = TypeVar("V")


class ExactlyOnce(Generic[V]):
    """The effects of an epoch, in one transaction.

    Args:
        table: The table whose values the epoch changes.
        transactions: Have a producer for each partition of it.
        partition_count: Asks the brokers how many partitions a topic has.
        clock: The worker's clock; it hears the times that answers report.
        committed: Called with how far a source partition is committed.
        on_crash_point: Called with each stage that the epoch reaches.
        by_key: As `Routes` takes it.
        topic_prefix: As `Routes` takes it.
    """

    def __init__(
        self,
        *,
        table: StateTable[V],
        transactions: Transactions,
        partition_count: Callable[[str], Awaitable[int]],
        clock: ClusterClock,
        committed: Callable[[Consumed], None],
        on_crash_point: Callable[[CrashPoint], None],
        by_key: Mapping[str, str] | None = None,
        topic_prefix: str = "",
    ) -> None:
        self._table = table
        self._transactions = transactions
        self._clock = clock
        self._committed = committed
        self._on_crash_point = on_crash_point
        self._routes = Routes(partition_count, by_key, topic_prefix)

    async def carry_out(self, outcome: BatchOutput[V]) -> None:
        """Commit everything, then store it.

        Raises:
            InfrastructureError: the broker or the disk failed.
            ProducerFencedError: another worker owns the partition; nothing is stored.
            StateError: the changelog does not take what is to be stored; nothing was begun.
        """
        table, partition, consumed = self._table, outcome.partition, outcome.consumed
        producer = self._transactions.producer(table.name, partition)
        batches = [TransactionBatch(*routed) for routed in await self._routes.of_outcome(outcome)]
        items = storable(table, partition, [*outcome.settings, *changes(table, outcome.view)])
        sent_ms = self._clock.now_ms()
        if items:
            # A time of the write, as in RocksDB: state that no record touches expires by it.
            headers = tombstone_headers(table, outcome.view)
            rows = [(key, value, sent_ms, headers.get(key, NO_HEADERS)) for key, value in items]
            batches.append(TransactionBatch(table.changelog_topic_name, partition, rows))
        if not batches and consumed is None:
            return
        written = await producer.transact(batches, consumed, self._on_crash_point)
        if consumed is not None:
            self._committed(consumed)
        if items:
            self._clock.heard(written[-1][-1].appended_ms)
            store(table, outcome, items, written[-1], sent_ms)
            self._on_crash_point(CrashPoint.STORED)
