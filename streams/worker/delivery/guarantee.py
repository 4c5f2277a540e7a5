"""The processing guarantee of a worker: how its tables deliver what their epochs come to, and who may."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

from faust.types import TP

from streams.kafka.clock import ClusterClock
from streams.worker.crash_point import crash_point
from streams.worker.delivery.at_least_once import AtLeastOnce
from streams.worker.delivery.exactly_once import ExactlyOnce, Transactions
from streams.worker.delivery.lease import WorkerLease
from streams.worker.delivery.producer import RunProducer
from streams.worker.effects import Consumed, Effects
from streams.worker.faust.transport import RunConsumer
from streams.worker.options import TransactionOptions
from streams.worker.state.table import StateTable

V = TypeVar("V")


class Guarantee:
    """Exactly once where there are options of transactions, else at least once.

    Args:
        options: The options of transactions.
        producer: The worker's producer, which also makes transactional ones.
        lease: The worker's lease on its partitions, for what is done without transactions.
        clock: The worker's clock, which follows the brokers' time.
        consumer: Returns the worker's consumer.
        group: The application id, which names the consumer group.
        topics: What is written to.
        sources: By the name of a table, the topic whose runs change it.
        topic_prefix: As `Routes` takes it.
    """

    def __init__(
        self,
        options: TransactionOptions | None,
        *,
        producer: RunProducer,
        lease: WorkerLease,
        clock: ClusterClock,
        consumer: Callable[[], RunConsumer],
        group: str,
        topics: Collection[str],
        sources: Mapping[str, str],
        topic_prefix: str,
    ) -> None:
        self._topic_prefix = topic_prefix
        self._producer = producer
        self._lease = lease
        self._clock = clock
        self._consumer = consumer
        self._sources = sources
        self._transactions: Transactions | None = None
        if options is not None:
            timeout_ms = int(options.timeout_s * 1000)
            self._transactions = Transactions(
                lambda transactional_id: producer.new_transactional(transactional_id, timeout_ms),
                group=group,
                topics=topics,
                within_s=options.within_s,
            )

    def effects(self, table: StateTable[V], scope: str, by_key: Mapping[str, str]) -> Effects[V]:
        """Return how the epochs of a table deliver.

        Args:
            table: The table that the epochs change.
            scope: The scope of its crash points.
            by_key: As `Routes` takes it.
        """
        producer, on_crash_point = self._producer, crash_point(scope=scope)
        if self._transactions is None:
            return AtLeastOnce(
                table=table,
                producer=producer,
                lease=self._lease,
                clock=self._clock,
                on_crash_point=on_crash_point,
                by_key=by_key,
                topic_prefix=self._topic_prefix,
            )
        table.transactional = True
        return ExactlyOnce(
            table=table,
            transactions=self._transactions,
            partition_count=producer.partition_count,
            clock=self._clock,
            committed=self._confirm,
            on_crash_point=on_crash_point,
            by_key=by_key,
            topic_prefix=self._topic_prefix,
        )

    def _confirm(self, consumed: Consumed) -> None:
        self._consumer().confirm(TP(consumed.topic, consumed.partition), consumed.offset)

    async def fence(self, owned: Iterable[tuple[str, int]]) -> None:
        """Keep earlier owners of these partitions of tables from writing any more, under exactly once.

        Raises:
            InfrastructureError: the brokers do not let us.
        """
        if self._transactions is not None:
            await self._transactions.assigned(owned)

    async def keep_producers_known(self, idle_s: float) -> None:
        """Let each producer that had nothing to do for ``idle_s`` commit its position once more.

        Raises:
            InfrastructureError: the brokers do not let us.
        """
        if self._transactions is not None:
            await self._transactions.keep_known(self._processed, idle_s)

    def _processed(self, table: str, partition: int) -> Consumed | None:
        tp = TP(self._sources[table], partition)
        consumer = self._consumer()
        offset = consumer.processed(tp)
        # What is read again is committed already.
        return None if offset is None else Consumed(*tp, max(offset, consumer.committed(tp) or 0))

    async def release(self) -> None:
        """Let go of what was fenced, after the transactions under way."""
        if self._transactions is not None:
            await self._transactions.close()
