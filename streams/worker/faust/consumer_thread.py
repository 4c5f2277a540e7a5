"""Faust's consumer thread, in which aiokafka's consumer of the group lives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, ConsumerStoppedError, IllegalStateError, KafkaError
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Transport, ensure_aiokafka_TP
from faust.types import TP

from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.connection import READ_COMMITTED
from streams.kafka.patches.careful_fetch import read_carefully
from streams.kafka.patches.fetching import (
    fetch_positions,
    hook_fetch,
    note_when_asked,
    notice_out_of_range,
    records_lost,
)
from streams.kafka.patches.group_consumer import (
    Pacing,
    committed_offsets,
    current_assignment,
    follow_leaders,
    keep_lease,
    raise_error,
    request_rejoin,
    set_option,
)
from streams.kafka.patches.record_batches import BatchWatch
from streams.worker.faust.job_app import job_app

log = logging.getLogger(__name__)


def check_client(consumer: AIOKafkaConsumer) -> None:
    """Report the error that aiokafka keeps for the code that polls it; Faust never looks at it.

    Raises:
        InfrastructureError: there is one.
    """
    try:
        raise_error(consumer)
    except KafkaError as error:
        raise InfrastructureError(
            f"The consumer cannot go on: {error!r}. Nothing was acknowledged since. Check the brokers, and "
            "that this worker may Read its group and its topics (docs/exactly-once.md lists what it needs), "
            "then restart."
        ) from error


async def seek_to_committed(consumer: AIOKafkaConsumer) -> dict[TopicPartition, int | None]:
    """Seek the committed offsets of all assigned partitions; return them, None where there is none.

    aiokafka asks for each partition alone, one after another. Where a broker is a second away, a worker with
    many partitions is not done before its patience with the coordinator ends, however often it starts.
    """
    assigned = list(consumer.assignment())
    found = await committed_offsets(consumer, assigned)
    offsets: dict[TopicPartition, int | None] = {}
    for tp in assigned:
        offset = found[tp].offset if tp in found else -1
        offsets[tp] = offset if offset >= 0 else None
        if offset > 0:
            consumer.seek(tp, offset)
    return offsets


class RunConsumerThread(AIOKafkaConsumerThread):
    """Faust's consumer thread with the fetch wait, the commit outcome and its own end put right."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._unanswered: set[asyncio.Future[Any]] = set()
        self._out_of_range: dict[TopicPartition, int] = {}
        self._counted_to: dict[TopicPartition, int] = {}
        self._asked_at: dict[TopicPartition, float] = {}
        self._pacing: Pacing | None = None
        #: Whether the log has it that commits time out, until one does not.
        self._logged_commits = False
        #: The positions after the last fetch.
        self.read_to: dict[TP, int] = {}
        super().__init__(*args, **kwargs)

    def check(self) -> None:
        """Do as `check_client` does, once there is a client."""
        if self._consumer is not None:
            check_client(self._consumer)

    def join_again(self) -> None:
        """Let the consumer join the group again, though it is a member."""
        self.thread_loop.call_soon_threadsafe(request_rejoin, self._ensure_consumer())

    async def call_thread(self, fun: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        """Call ``fun`` in the thread and return what it returns.

        Raises:
            ConsumerStoppedError: the thread has ended, which it does at once when the worker crashes. Faust
                would wait for ever, and so would the drain of a worker that stops.
        """
        answer = self.parent_loop.create_future()
        self._unanswered.add(answer)
        try:
            await self.method_queue.call(answer, fun, *args, **kwargs)
            if self._shutdown.is_set():
                raise ConsumerStoppedError
            return await answer
        except RuntimeError as error:
            if self.thread_loop.is_closed():
                raise ConsumerStoppedError from error
            raise
        finally:
            self._unanswered.discard(answer)

    def set_shutdown(self) -> None:
        """Tell those who wait for the thread that it ends."""
        super().set_shutdown()
        self.parent_loop.call_soon_threadsafe(self._answer_no_more)

    def _stopped_set(self) -> None:
        try:
            super()._stopped_set()
        except RuntimeError:
            # A crash ends the thread and its loop at once: nothing is left there to notify.
            if not self.thread_loop.is_closed():
                raise

    def _answer_no_more(self) -> None:
        for answer in self._unanswered:
            if not answer.done():
                answer.set_exception(ConsumerStoppedError())

    def _create_worker_consumer(self, transport: Transport) -> AIOKafkaConsumer:
        app = job_app(self.app)
        options, rack = app.options.transport, app.options.connection.client_rack
        consumer = super()._create_worker_consumer(transport)
        # Faust hard-codes the wait, and ties the isolation to its own guarantee, which is never ours.
        ours = {"fetch_max_wait_ms": options.fetch_max_wait_ms, "isolation_level": READ_COMMITTED}
        if rack:
            ours |= {"client_rack": rack}
        for name, value in {**ours, **options.consumer}.items():
            if not set_option(consumer, name, value):
                raise ConfigurationError(
                    f"EDDY_CONSUMER names {name}, which aiokafka's consumer does not have."
                )
        return consumer

    def heard_at(self, tp: TP) -> float | None:
        """Return when a broker was asked for what is known of the partition's end, by `boot_time`."""
        return self._asked_at.get(ensure_aiokafka_TP(tp))

    def stable_end(self, tp: TP) -> int | None:
        """Return the offset up to which no transaction is open, None where the brokers say nothing of it."""
        stable: int | None = self._ensure_consumer().last_stable_offset(tp)
        return None if stable is None or stable < 0 else stable

    async def on_start(self) -> None:
        """Start the consumer; let it find leaders that have moved, tell of heartbeats and lost positions."""
        await super().on_start()
        consumer = self._ensure_consumer()
        app = job_app(self.app)
        hook_fetch(
            consumer,
            read_carefully(consumer, BatchWatch(app.options.connection.max_batch_bytes)),
            notice_out_of_range(self._out_of_range),
            note_when_asked(self._asked_at),
        )
        keep_lease(consumer, app.lease)
        follow_leaders(consumer)
        self._pacing = Pacing(consumer, app.options.transport.paced)

    async def on_thread_stop(self) -> None:
        """Stop the consumer; a cancelled task of aiokafka does not end the thread before its time."""
        with suppress(asyncio.CancelledError):
            await super().on_thread_stop()

    async def _fetch_records(
        self,
        consumer: AIOKafkaConsumer,
        active_partitions: set[TP],
        timeout: float | None = None,  # noqa: ASYNC109 - Faust's own signature
        max_records: int | None = None,
    ) -> Any:
        """Fetch; what a fetch from before a rebalance finds after it is put back.

        Such a fetch returns records of the new assignment while delivery has not begun. Nobody would process
        them, and the seek to the committed offsets leaves a partition without any where the fetch moved it.

        Raises:
            StateError: a partition ends before the position it was read up to.
            InfrastructureError: the brokers do not let us read, or hold what cannot be read.
        """
        try:
            return await self._fetched(consumer, active_partitions, timeout, max_records)
        except IllegalStateError:
            raise
        except KafkaError as error:
            raise InfrastructureError(
                f"Reading records failed: {error!r}. Nothing of them was acknowledged. Check the brokers, "
                "and that this worker may Read its topics (docs/exactly-once.md lists what it needs), then "
                "restart."
            ) from error

    async def _fetched(
        self,
        consumer: AIOKafkaConsumer,
        active_partitions: set[TP],
        timeout: float | None,  # noqa: ASYNC109 - as above
        max_records: int | None,
    ) -> Any:
        fetched = await super()._fetch_records(consumer, active_partitions, timeout, max_records)
        if self._pacing is not None:
            self._pacing.polled(fetched)
        # Nothing is awaited until the look at lost records: this is the assignment they came under.
        assignment = current_assignment(consumer)
        self.read_to = fetch_positions(consumer, active_partitions)
        while self._out_of_range:
            tp, position = self._out_of_range.popitem()
            # The seek to the committed offset, which is still the old one, comes to the same gap again.
            position = max(position, self._counted_to.get(tp, 0))
            if (lost := await records_lost(consumer, tp, position)) == 0:
                continue
            self._counted_to[tp] = position + lost
            log.error(
                "%s records of %s[%s] were deleted before they were read, from offset %s on: the topic's "
                "retention is shorter than the workers were behind. Raise it, or add workers.",
                lost,
                tp.topic,
                tp.partition,
                position,
            )
            job_app(self.app).metrics.lost(tp.topic, tp.partition, lost)
        if fetched and (assignment is None or not assignment.active):
            # Another assignment came meanwhile, with positions that may be before or behind these records.
            self.read_to = {}
            return {}
        if fetched and not self.consumer.flow_active:
            for tp, records in fetched.items():
                if tp in consumer.assignment():
                    consumer.seek(tp, records[0].offset)
            self.read_to = {}  # the flow may be back at the next look, and would take these for read
            return {}
        return fetched

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Seek the committed offsets in the thread, see the function of that name."""
        found: Mapping[TP, int] = await self.call_thread(seek_to_committed, self._ensure_consumer())
        return found

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Commit; a commit refused because the group is rebalancing is no failure, the offsets come again."""
        consumer = self._ensure_consumer()
        try:
            assigned = self.assignment()
            wanted = {ensure_aiokafka_TP(tp): offset for tp, offset in offsets.items() if tp in assigned}
            # aiokafka tries for ever while no coordinator answers; a drain must end.
            await asyncio.wait_for(consumer.commit(wanted), self.app.conf.broker_request_timeout)
        except TimeoutError:
            if not self._logged_commits:
                self._logged_commits = True
                log.warning("A commit timed out: no group coordinator answers. The worker tries again.")
            return False
        except (CommitFailedError, IllegalStateError) as error:
            log.info("A commit is refused, since the group is rebalancing: %s", str(error).split("\n")[0])
            return False
        except Exception as error:
            log.exception("A commit failed.")
            await self.crash(error)
            return False
        self._logged_commits = False
        return True
