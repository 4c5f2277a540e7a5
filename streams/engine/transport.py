"""The Faust transport that delivers runs.

Faust's consumer makes four asyncio tasks for each record it delivers. This one hands a whole run to the
stream as one event, and commits a watermark per partition, the offset after the last run acknowledged,
instead of searching lists of single offsets. Registered as the URL scheme ``runs://``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import faust
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import CommitFailedError, ConsumerStoppedError, IllegalStateError
from faust.transport.drivers import TRANSPORTS
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer, Transport, ensure_aiokafka_TP
from faust.types import TP
from faust.types.tuples import ConsumerMessage, Message

from streams.domain.run import Run, rounds, runs
from streams.engine.crash_point import CrashPoint, crash_point
from streams.engine.leaders import follow_leaders
from streams.engine.producer import RunProducer
from streams.errors import ConfigurationError

SCHEME = "runs"

#: How long a poll waits for records, seconds. Short, since a partition that comes back to the poll set is
#: not seen by a poll that is already waiting.
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class TransportOptions:
    """What Faust's settings do not reach."""

    run_max_records: int = 500
    run_max_bytes: int = 1 << 20
    fetch_max_wait_ms: int = 50
    """How long the broker may hold a fetch that finds nothing. Faust's own 1,500 ms costs 400 ms of "
    "latency."""
    producer: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of aiokafka's producer."""
    consumer: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of aiokafka's consumer."""


class RunConsumerThread(AIOKafkaConsumerThread):
    """Faust's consumer thread with the fetch wait and the commit outcome put right."""

    def _create_worker_consumer(self, transport: Transport) -> AIOKafkaConsumer:
        options = transport_options(self.app)
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = options.fetch_max_wait_ms  # noqa: SLF001 - Faust hard-codes it
        for name, value in options.consumer.items():
            if not hasattr(consumer, f"_{name}"):
                raise ConfigurationError(
                    f"EDDY_CONSUMER names {name}, which aiokafka's consumer does not have."
                )
            setattr(consumer, f"_{name}", value)
        return consumer

    async def on_start(self) -> None:
        """Start the consumer, and let it find leaders that have moved."""
        await super().on_start()
        follow_leaders(self._ensure_consumer())

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
        """
        fetched = await super()._fetch_records(consumer, active_partitions, timeout, max_records)
        if fetched and not self.consumer.flow_active:
            for tp, records in fetched.items():
                if tp in consumer.assignment():
                    consumer.seek(tp, records[0].offset)
            return {}
        return fetched

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Commit; a commit refused because the group is rebalancing is no failure, the offsets come again."""
        consumer = self._ensure_consumer()
        try:
            assigned = self.assignment()
            wanted = {ensure_aiokafka_TP(tp): offset for tp, offset in offsets.items() if tp in assigned}
            # aiokafka tries for ever while no coordinator answers; a drain must end.
            await asyncio.wait_for(consumer.commit(wanted), self.app.conf.broker_request_timeout)
        except TimeoutError:
            self.log.warning("Commit timed out: no group coordinator answers. It is tried again.")
            return False
        except (CommitFailedError, IllegalStateError) as error:
            self.log.info("Commit refused, the group is rebalancing: %s", str(error).split("\n")[0])
            return False
        except Exception as error:
            self.log.exception("Commit failed")
            await self.crash(error)
            return False
        return True


class RunConsumer(Consumer):
    """Delivers runs, commits watermarks."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._watermarks: dict[TP, int] = {}
        self._confirmed: dict[TP, int] = {}
        self._first_delivered: dict[TP, int] = {}
        self._reach = crash_point()
        super().__init__(*args, **kwargs)

    def _new_consumer_thread(self) -> RunConsumerThread:
        return RunConsumerThread(self, loop=self.loop, beacon=self.beacon)

    # -- delivery -----------------------------------------------------------------------------------------

    async def _drain_messages(self, fetcher: Any) -> None:
        options = transport_options(self.app)
        try:
            while not (self.should_stop or fetcher.should_stop):
                fetched, _ = await self._wait_next_records(_POLL_SECONDS)
                if not fetched:
                    await asyncio.sleep(0)
                    continue
                generation = self.app.consumer_generation_id
                source = {
                    (tp.topic, tp.partition): records
                    for tp, records in fetched.items()
                    if not self._is_changelog_tp(tp)
                }
                cut = runs(source, max_records=options.run_max_records, max_bytes=options.run_max_bytes)
                for together in rounds(cut):
                    # What is not delivered any more is read again: the rebalance that stopped delivery gives
                    # the partition a new position, the committed offset or the beginning.
                    if not self.flow_active or self.app.consumer_generation_id != generation:
                        break
                    # At once, because each delivery takes several turns of an event loop busy with epochs.
                    delivered = asyncio.gather(*(self.callback(self._run_message(run)) for run in together))
                    await self.wait_first(delivered, self.suspend_flow.wait())
        except ConsumerStoppedError:
            if not self.app.should_stop:
                raise
        except asyncio.CancelledError:
            if not self.app.should_stop:
                raise

    def _run_message(self, run: Run) -> ConsumerMessage:
        tp = TP(run.topic, run.partition)
        self._first_delivered.setdefault(tp, run.first_offset)
        newest = run.messages[-1]
        return ConsumerMessage(
            run.topic,
            run.partition,
            newest.offset,
            newest.timestamp / 1000.0,
            0,
            None,
            None,
            run,  # type: ignore[arg-type]  # Faust types values as bytes; RunSchema hands the run on
            None,
            0,
            0,
            tp,
            generation_id=self.app.consumer_generation_id,
        )

    def on_buffer_full(self, tp: TP) -> None:
        """Do nothing: the blocking put of a full lane is the back pressure."""

    def on_buffer_drop(self, tp: TP) -> None:
        """Do nothing, see `on_buffer_full`."""

    def stop_flow(self) -> None:
        """Stop delivering, and let the lanes drop what they have not begun."""
        super().stop_flow()
        for lanes in getattr(self.app, "lanes", {}).values():
            lanes.abandon()

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Do nothing: Faust's check knows per-record acknowledgement only; `Watchdog` looks at progress."""

    # -- acknowledgement ----------------------------------------------------------------------------------

    def ack(self, message: Message) -> bool:
        """Move the partition's watermark past the run."""
        if message.acked:
            return False
        message.acked = True
        self._unacked_messages.discard(message)
        self._watermarks[message.tp] = message.offset + 1
        self._wake_waiting()
        return True

    def _wake_waiting(self) -> None:
        waiting = self._waiting_for_ack
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def abandon(self, message: Message) -> None:
        """Forget a run that was delivered and will not be processed; it is read again."""
        self._unacked_messages.discard(message)
        self._wake_waiting()

    def committed(self, tp: TP) -> int | None:
        """Return the offset the broker confirmed as committed in this assignment, None before the first."""
        return self._confirmed.get(tp)

    def end(self, tp: TP) -> int | None:
        """Return the offset after the partition's newest record, None before its first fetch."""
        try:
            end: int | None = self.highwater(tp)
        except (AssertionError, IllegalStateError):  # the consumer's thread lost the partition a moment ago
            return None
        return end

    def lag(self, tp: TP) -> int | None:
        """Return how many records after the last acknowledged run the partition has, None when not known."""
        end = self.end(tp)
        begun = self._first_delivered.get(tp)
        done = self._watermarks.get(tp, begun if begun is not None else self._read_offset.get(tp))
        return None if end is None or done is None else max(0, end - done)

    async def commit_and_end_transactions(self) -> None:
        """Commit what is acknowledged, also when the timer's commit is on its way with less."""
        await self.maybe_wait_for_commit_to_finish()
        await super().commit_and_end_transactions()

    async def _commit_offsets(self, offsets: Mapping[TP, int], start_new_transaction: bool = True) -> bool:
        done: bool = await super()._commit_offsets(offsets, start_new_transaction)
        if not done:
            # Faust takes note of a refused commit as if it had been made, and would not try again.
            for tp in offsets:
                self._committed_offset.pop(tp, None)
        return done

    def _filter_tps_with_pending_acks(self, topics: Iterable[TP | str] | None = None) -> Iterator[TP]:
        wanted = None if topics is None else set(topics)
        return (tp for tp in list(self._watermarks) if wanted is None or tp in wanted or tp.topic in wanted)

    def _new_offset(self, tp: TP) -> int | None:
        return self._watermarks.get(tp)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        done = await super()._commit(offsets)
        if done:
            self._confirmed.update(offsets)
            self._reach(CrashPoint.COMMITTED)
        return done

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Drain and commit while the partitions are still ours, then forget their watermarks."""
        await super().on_partitions_revoked(revoked)
        for tp in revoked:
            self._watermarks.pop(tp, None)
            self._confirmed.pop(tp, None)
            self._first_delivered.pop(tp, None)


class RunTransport(Transport):
    """aiokafka, by the run."""

    Consumer: ClassVar[type[RunConsumer]] = RunConsumer
    Producer: ClassVar[type[RunProducer]] = RunProducer


class RunSchema(faust.Schema[Any, Any]):
    """Hands the run on as the event's value; decoding is the job's."""

    def loads_key(self, app: Any, message: Message, **_: Any) -> None:
        """Return None: a run has many keys."""

    def loads_value(self, app: Any, message: Message, **_: Any) -> Any:  # noqa: ARG002
        """Return the run."""
        return message.value


def transport_options(app: Any) -> TransportOptions:
    """Return the options the app was built with."""
    options: TransportOptions = app.transport_options
    return options


def register() -> None:
    """Make ``runs://`` known to Faust."""
    TRANSPORTS.aliases[SCHEME] = f"{__name__}:RunTransport"
