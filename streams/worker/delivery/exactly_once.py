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

Transactional producers: one for each table and source partition that this worker owns. What fences a worker
that was taken for dead is the *transactional id* of the partition: who starts a producer under it
(InitProducerId) ends the open transaction of the one before and shuts it out for good. aiokafka sends offsets
into a transaction without the group's generation (KIP-447), so one producer for all partitions, as newer
clients have, would fence no worker.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    IllegalGenerationError,
    InvalidProducerEpoch,
    KafkaError,
    ProducerFenced,
    RebalanceInProgressError,
    UnknownMemberIdError,
)

from streams.core.domain.record import NO_HEADERS, Row
from streams.core.errors import EddyError, InfrastructureError, ProducerFencedError
from streams.kafka.clock import ClusterClock
from streams.kafka.patches.producing import TransactionBegin, find_coordinators, retrieve_failures
from streams.worker.crash_point import CrashPoint
from streams.worker.delivery.producer import WrittenBatch, publish
from streams.worker.delivery.storable import storable
from streams.worker.effects import BatchOutput, Consumed, Routes, changes, store, tombstone_headers
from streams.worker.state.table import StateTable

#: For a failed transaction to be aborted, and for a producer to be closed, seconds. The next owner's fence
#: makes good for what is not done by then.
_LAST_WORDS_S = 5.0

#: Each says that another worker is the producer, or the owner, of this partition by now.
_FENCED = (
    ProducerFenced,
    InvalidProducerEpoch,
    RebalanceInProgressError,
    IllegalGenerationError,
    UnknownMemberIdError,
)

log = logging.getLogger(__name__)


class TransactionBatch(NamedTuple):
    """Records for one topic partition."""

    topic: str
    partition: int
    records: Iterable[Row]


class TransactionalProducer:
    """The producer of one source partition of one table: one transaction at a time, all or nothing.

    Args:
        client: With a transactional id, not started.
        transactional_id: The client's transactional id.
        group: The consumer group whose offsets go into the transactions.
        within_s: For a transaction from begin to commit. Less than the broker's timeout, which aborts it.
    """

    def __init__(
        self, client: AIOKafkaProducer, transactional_id: str, *, group: str, within_s: float
    ) -> None:
        self.transactional_id = transactional_id
        find_coordinators(client)
        self._begin = TransactionBegin(client, group)
        self._client = client
        self._group = group
        self._within_s = within_s
        self._turn = asyncio.Lock()
        self._lost = False
        self._used_at = time.monotonic()

    async def start(self, topics: Iterable[str]) -> None:
        """Fence the earlier writer under this id; returns when its open transaction is ended.

        Raises:
            InfrastructureError: no transaction coordinator answers, or it refuses.
        """
        try:
            async with asyncio.timeout(self._within_s):
                await self._client.start()
                # Else each topic is asked for by itself in the first transaction.
                await self._client.client.set_topics(topics)
        except (KafkaError, TimeoutError) as error:
            why = f"no answer for {self._within_s:g} s" if isinstance(error, TimeoutError) else repr(error)
            raise InfrastructureError(
                f"No transactional producer {self.transactional_id}: {why}. Check the brokers, and that "
                "this worker may Write to and Describe the transactional ids that begin with "
                "EDDY_APPLICATION_ID. The worker tries again when it restarts."
            ) from error

    async def transact(
        self,
        batches: Sequence[TransactionBatch],
        consumed: Consumed | None,
        on_crash_point: Callable[[CrashPoint], None],
    ) -> list[list[WrittenBatch]]:
        """Write all of it in one transaction; return where each of the batches stands.

        Args:
            batches: With at least one record each.
            consumed: Offset of the input that is committed with them, if any.
            on_crash_point: Called with each stage that the transaction reaches.

        Raises:
            ProducerFencedError: another worker writes under this id, or the producer is closed.
            InfrastructureError: it failed. What became of it, only a new start tells: the worker must stop.
        """
        async with self._turn:
            return await self._alone(batches, consumed, on_crash_point)

    async def keep_known(self, consumed: Consumed, idle_s: float) -> None:
        """Commit a position once more if there was no transaction for ``idle_s``.

        Brokers forget a transactional id that no producer uses (``transactional.id.expiration.ms``, a week).

        Raises:
            ProducerFencedError: as `transact` does.
            InfrastructureError: as `transact` does.
        """
        async with self._turn:
            if time.monotonic() - self._used_at >= idle_s:
                await self._alone((), consumed, lambda _: None)

    async def _alone(
        self,
        batches: Sequence[TransactionBatch],
        consumed: Consumed | None,
        on_crash_point: Callable[[CrashPoint], None],
    ) -> list[list[WrittenBatch]]:
        if self._lost:
            raise ProducerFencedError(f"{self.transactional_id} belongs to another worker by now.")
        self._used_at = time.monotonic()
        try:
            async with asyncio.timeout(self._within_s):
                return await self._transact(batches, consumed, on_crash_point)
        except (KafkaError, TimeoutError, EddyError) as error:
            raise await self._failed(error) from error

    async def _transact(
        self,
        batches: Sequence[TransactionBatch],
        consumed: Consumed | None,
        on_crash_point: Callable[[CrashPoint], None],
    ) -> list[list[WrittenBatch]]:
        client = self._client
        self._begin.begin(with_offset=consumed is not None)
        sent = [await publish(client, *batch) for batch in batches]
        on_crash_point(CrashPoint.TRANSACTION_SENT)
        written = await asyncio.gather(*(each.written() for each in sent), return_exceptions=True)
        # aiokafka would commit without a batch that failed.
        if failures := [each for each in written if isinstance(each, BaseException)]:
            raise next(filter(_is_fenced, failures), failures[0])
        if consumed is not None:
            # Not beside the batches, see `transaction_begin`.
            position = {TopicPartition(consumed.topic, consumed.partition): consumed.offset}
            await client.send_offsets_to_transaction(position, self._group)
        on_crash_point(CrashPoint.TRANSACTION_ACKED)
        await client.commit_transaction()
        on_crash_point(CrashPoint.COMMITTED)
        return [each for each in written if not isinstance(each, BaseException)]

    async def _failed(self, error: Exception) -> EddyError:
        if _is_fenced(error):
            self._lost = True
            retrieve_failures(self._client)
            log.warning(
                "%s is fenced: another worker has taken its partition over, or a transaction was open for "
                "longer than EDDY_TRANSACTION_TIMEOUT_S. Its runs are abandoned until the partitions are "
                "assigned again; if they are not, the worker ends itself after EDDY_STALL_TIMEOUT_S.",
                self.transactional_id,
            )
            return ProducerFencedError(f"{self.transactional_id} belongs to another worker by now.")
        with suppress(KafkaError, TimeoutError, AssertionError):  # it may be past that, and is aborted anyway
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._client.abort_transaction()
        if isinstance(error, TimeoutError):
            return InfrastructureError(
                f"A transaction of {self.transactional_id} was not done within {self._within_s:g} s "
                "(EDDY_PRODUCER_REQUEST_TIMEOUT_S): a broker does not answer, a topic has too few replicas "
                "in sync, or this worker was suspended. The run was not acknowledged. Check the brokers "
                "(`eddy doctor`), then restart: the worker continues from what was committed."
            )
        return InfrastructureError(
            f"A transaction of {self.transactional_id} failed: {error!r}. The run was not acknowledged. "
            "Check the brokers and the topics' max.message.bytes, then restart: the worker continues from "
            "what was committed."
        )

    async def close(self) -> None:
        """Wait for the transaction under way, then close the connections; nothing is written any more."""
        async with self._turn:
            self._lost = True
            try:
                async with asyncio.timeout(_LAST_WORDS_S):
                    await self._client.stop()
            except (KafkaError, TimeoutError) as error:
                log.info("%s was not closed in order: %r", self.transactional_id, error)
                await self._client.client.close()


class Transactions:
    """The producers of the partitions this worker owns.

    Args:
        new_client: Makes a client with a transactional id, not started.
        group: The application id: whose offsets are committed, and what transactional ids begin with.
        topics: What is written to.
        within_s: As `TransactionalProducer` takes it.
    """

    def __init__(
        self,
        new_client: Callable[[str], AIOKafkaProducer],
        *,
        group: str,
        topics: Iterable[str],
        within_s: float,
    ) -> None:
        self._new_client = new_client
        self._group = group
        self._topics = tuple(topics)
        self._within_s = within_s
        self._producers: dict[tuple[str, int], TransactionalProducer] = {}

    async def assigned(self, owned: Iterable[tuple[str, int]]) -> None:
        """Fence the earlier owners of these partitions of tables, all at once.

        Only then is the end of the changelog final, and the committed offset: what is restored before that
        may lack the last transaction of the predecessor.

        Raises:
            InfrastructureError: a producer cannot be started.
        """
        await self.close()
        for table, partition in owned:
            name = f"{self._group}-{table}-{partition}"
            self._producers[table, partition] = TransactionalProducer(
                self._new_client(name), name, group=self._group, within_s=self._within_s
            )
        await asyncio.gather(*(producer.start(self._topics) for producer in self._producers.values()))

    def producer(self, table: str, partition: int) -> TransactionalProducer:
        """Return the producer of a partition.

        Raises:
            ProducerFencedError: the partition is not owned any more.
        """
        found = self._producers.get((table, partition))
        if found is None:
            raise ProducerFencedError(f"{table}[{partition}] is not this worker's any more.")
        return found

    async def keep_known(self, position: Callable[[str, int], Consumed | None], idle_s: float) -> None:
        """Let no broker forget a producer that has nothing to do, see `TransactionalProducer.keep_known`.

        Args:
            position: Returns how far the source of a table's partition is processed.
            idle_s: Who was used since then is left alone.

        Raises:
            InfrastructureError: the brokers do not let us.
        """
        for (table, partition), producer in list(self._producers.items()):
            if (consumed := position(table, partition)) is not None:
                with suppress(ProducerFencedError):  # the next run is told so, too
                    await producer.keep_known(consumed, idle_s)

    async def close(self) -> None:
        """Close every producer, after the transaction it may be in."""
        producers = list(self._producers.values())
        self._producers.clear()
        await asyncio.gather(*(producer.close() for producer in producers))


def _is_fenced(error: BaseException | None) -> bool:
    """Return whether another worker is the cause; aiokafka wraps errors that it does not know."""
    while error is not None:
        if isinstance(error, _FENCED):
            return True
        error = error.__cause__
    return False


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
        values = changes(table, outcome.view)
        items = storable(table, partition, [*outcome.settings, *values, *outcome.marks])
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
