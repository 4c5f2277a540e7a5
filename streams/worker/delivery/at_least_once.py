"""Delivery without transactions: every step is acknowledged before the next one begins.

    settings    a change of settings is in the changelog and in RocksDB before the first output under it
    outputs     acknowledged by the broker
    changelog   one record per changed value: acknowledged by the broker
    store       one RocksDB batch holds the values and the changelog offset
    (ack)       the lane acknowledges the run, and Faust commits the offset

A crash between any two stages replays the run. A value whose changelog record was acknowledged skips what
it has seen, and its outputs were acknowledged before; one whose record was not gives them again. RocksDB
is never ahead of the changelog, and the changelog never ahead of the outputs.

Each step is taken under the lease of the worker on its partitions (`lease`). When that has ended, the run is
abandoned where it is: like after a crash, but the worker lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from streams.core.domain.record import NO_HEADERS, Headers, Row
from streams.kafka.clock import ClusterClock
from streams.worker.crash_point import CrashPoint
from streams.worker.delivery.lease import WorkerLease
from streams.worker.delivery.producer import RunProducer, SentBatches, WrittenBatch, all_acknowledged
from streams.worker.delivery.storable import storable
from streams.worker.effects import BatchOutput, Items, Routes, changes, in_batches, store, tombstone_headers
from streams.worker.state.table import StateTable

V = TypeVar("V")

_NONE: Mapping[bytes, Headers] = {}


class AtLeastOnce(Generic[V]):
    """The effects of an epoch, one after another.

    Args:
        table: The table whose values the epoch changes.
        producer: Must acknowledge with ``acks=all``, and send nothing while the lease is over.
        lease: The worker's lease on its partitions.
        clock: The worker's clock; it hears the times that answers report.
        on_crash_point: Called with each stage that the epoch reaches.
        by_key: As `Routes` takes it.
        topic_prefix: As `Routes` takes it.
    """

    def __init__(
        self,
        *,
        table: StateTable[V],
        producer: RunProducer,
        lease: WorkerLease,
        clock: ClusterClock,
        on_crash_point: Callable[[CrashPoint], None],
        by_key: Mapping[str, str] | None = None,
        topic_prefix: str = "",
    ) -> None:
        self._table = table
        self._producer = producer
        self._lease = lease
        self._clock = clock
        self._on_crash_point = on_crash_point
        self._routes = Routes(producer.partition_count, by_key, topic_prefix)

    async def carry_out(self, outcome: BatchOutput[V]) -> None:
        """Publish and store everything, in that order.

        Raises:
            InfrastructureError: the broker or the disk failed.
            ProducerFencedError: the lease ended. Some of it may be published; the rest never will be.
            StateError: the changelog does not take what is to be stored; nothing was published.
        """
        table, on_crash_point, partition = self._table, self._on_crash_point, outcome.partition
        # What cannot be stored has to show before the first output is there.
        settings = storable(table, partition, outcome.settings)
        items = storable(table, partition, [*changes(table, outcome.view), *outcome.marks])
        term = await self._lease.begin()
        if settings:
            for part in in_batches(settings, *await self._log(term, partition, settings)):
                table.put(partition, *part)
            on_crash_point(CrashPoint.SETTINGS_ACKED)
        sent = [await self._publish(term, *routed) for routed in await self._routes.of_outcome(outcome)]
        on_crash_point(CrashPoint.OUTPUTS_SENT)
        await all_acknowledged(sent)
        on_crash_point(CrashPoint.OUTPUTS_ACKED)
        if not items:
            return
        headers = tombstone_headers(table, outcome.view)
        written = await self._log(term, partition, items, CrashPoint.CHANGELOG_SENT, headers)
        on_crash_point(CrashPoint.CHANGELOG_ACKED)
        store(table, outcome, items, *written)
        on_crash_point(CrashPoint.STORED)

    async def _publish(self, term: int, topic: str, partition: int, records: Iterable[Row]) -> SentBatches:
        # What is handed over after the end of the term would be sent under the next one.
        self._lease.check(term)
        return await self._producer.publish(topic, partition, records)

    async def _log(
        self,
        term: int,
        partition: int,
        items: Items,
        on_the_way: CrashPoint | None = None,
        headers: Mapping[bytes, Headers] = _NONE,
    ) -> tuple[list[WrittenBatch], int]:
        """Write to the changelog; return the batches, and the time of the records in them (ms).

        Both are times of the write: state that no record touches expires by that. They are in no output.
        """
        sent_ms = self._clock.now_ms()
        records = ((key, value, sent_ms, headers.get(key, NO_HEADERS)) for key, value in items)
        sent = await self._publish(term, self._table.changelog_topic_name, partition, records)
        if on_the_way is not None:
            self._on_crash_point(on_the_way)
        written = await sent.written()
        self._clock.heard(written[-1].appended_ms)
        return written, sent_ms
