"""The Faust transport that delivers runs.

Faust's consumer makes four asyncio tasks for each record it delivers. This one hands a whole run to the
stream as one event, and commits a watermark per partition, the offset after the last run acknowledged,
instead of searching lists of single offsets. Registered as the URL scheme ``runs://``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import faust
from aiokafka.errors import ConsumerStoppedError, IllegalStateError
from faust.transport.consumer import ensure_TP
from faust.transport.drivers import TRANSPORTS
from faust.transport.drivers.aiokafka import Consumer, Transport
from faust.types import TP
from faust.types.tuples import ConsumerMessage, Message
from mode import Service

from streams.core.domain.run import Run, rounds, runs
from streams.kafka.clock import boot_time
from streams.worker.crash_point import CrashPoint, crash_point
from streams.worker.delivery.producer import RunProducer
from streams.worker.faust.consumer_thread import RunConsumerThread
from streams.worker.faust.job_app import job_app

SCHEME = "runs"

#: How long a poll waits for records, seconds. Short, since a partition that comes back to the poll set is
#: not seen by a poll that is already waiting.
_POLL_SECONDS = 0.5

#: Without anything to read a leader answers every `fetch_max_wait_ms`; for so long it is taken at its word.
_CURRENT_S = 15.0

#: Between two looks at what the client does not report.
_LOOK_SECONDS = 1.0


log = logging.getLogger(__name__)


class RunConsumer(Consumer):
    """Delivers runs, commits watermarks."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._watermarks: dict[TP, int] = {}
        self._confirmed: dict[TP, int] = {}
        self._first_delivered: dict[TP, int] = {}
        self._fetched: dict[TP, int] = {}
        self._read_to: dict[TP, int] = {}
        self._polls, self._delivered_at = 0, time.monotonic()
        self._on_crash_point = crash_point()
        super().__init__(*args, **kwargs)

    def _new_consumer_thread(self) -> RunConsumerThread:
        return RunConsumerThread(self, loop=self.loop, beacon=self.beacon)

    @Service.timer(_LOOK_SECONDS)
    async def _look_at_client(self) -> None:
        cast("RunConsumerThread", self._thread).check()

    # -- delivery -----------------------------------------------------------------------------------------

    async def _drain_messages(self, fetcher: Any) -> None:
        options = job_app(self.app).options.transport
        try:
            while not (self.should_stop or fetcher.should_stop):
                fetched, _ = await self._wait_next_records(_POLL_SECONDS)
                self._polls, self._delivered_at = self._polls + 1, time.monotonic()
                if self.flow_active:
                    self._take_note(fetched or {}, cast("RunConsumerThread", self._thread).read_to)
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
                    delivered.add_done_callback(_know_how_it_ended)
                    await self.wait_first(delivered, self.suspend_flow.wait())
                    self._delivered_at = time.monotonic()
        except ConsumerStoppedError:
            if not self.app.should_stop:
                raise
        except asyncio.CancelledError:
            if not self.app.should_stop:
                raise

    def _take_note(self, fetched: Mapping[TP, Sequence[Any]], read_to: Mapping[TP, int]) -> None:
        self._fetched.update((ensure_TP(tp), records[-1].offset + 1) for tp, records in fetched.items())
        self._read_to.update((ensure_TP(tp), position) for tp, position in read_to.items())

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
        """Stop delivering, and let the lanes drop what they have not begun, and what they may not finish."""
        super().stop_flow()
        app = job_app(self.app)
        for lanes in app.lanes.values():
            lanes.abandon()
        app.lease.give_up()

    def resume_flow(self) -> None:
        """Deliver again."""
        job_app(self.app).lease.go_on()
        super().resume_flow()

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Do nothing: Faust's check knows per-record acknowledgement only; `Watchdog` looks at progress."""

    def join_again(self) -> None:
        """Join the group again, as if it had changed: partitions are given out and restored again."""
        cast("RunConsumerThread", self._thread).join_again()

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
        """Return the newest offset the broker is known to have as committed, None when there is none."""
        return self._confirmed.get(tp)

    def end(self, tp: TP) -> int | None:
        """Return the offset after the partition's newest record, None before its first fetch."""
        try:
            end: int | None = self.highwater(tp)
        except (AssertionError, IllegalStateError):  # the consumer's thread lost the partition a moment ago
            return None
        return end

    def held_back(self, tp: TP) -> int:
        """Return how many records nobody can read yet, since a transaction before them is open.

        It is 0 as long as there is something to read before that transaction.
        """
        try:
            stable = cast("RunConsumerThread", self._thread).stable_end(tp)
        except (AssertionError, IllegalStateError):  # as for `end`
            return 0
        end, done = self.end(tp), self.processed(tp)
        if stable is None or end is None or done is None or done < stable:
            return 0
        return max(0, end - stable)

    def lag(self, tp: TP) -> int | None:
        """Return how many records after the last acknowledged run the partition has, None when not known.

        What holds no record does not count, as soon as it was read: markers of transactions, for one.
        """
        end, done = self.end(tp), self.processed(tp)
        return None if end is None or done is None else max(0, end - done)

    def processed(self, tp: TP) -> int | None:
        """Return the offset up to which all of the partition is processed, None when it is not known."""
        begun = self._first_delivered.get(tp)
        done = self._watermarks.get(tp, begun if begun is not None else self._read_offset.get(tp))
        if done is None:  # nothing was ever committed, and nothing has come that could be
            return None if tp in self._fetched else self._read_to.get(tp)
        if done >= self._fetched.get(tp, 0):  # nothing is on its way
            done = max(done, self._read_to.get(tp, 0))
        return done

    def polled(self) -> tuple[int, float]:
        """Return how many polls there have been, and when delivery last got on (monotonic)."""
        return self._polls, self._delivered_at

    def is_left_out(self, tp: TP) -> bool:
        """Tell whether all that polls have brought of a partition is processed."""
        return (self.processed(tp) or 0) >= self._fetched.get(tp, 0)

    def heard_at(self, tp: TP) -> float | None:
        """Return a time (`boot_time`) at which the partition ended at its `end`; None before the first."""
        return cast("RunConsumerThread", self._thread).heard_at(tp)

    def is_current(self, tp: TP) -> bool:
        """Tell whether the leader of a partition has answered of late: else its `end` may be an old one."""
        heard_at = self.heard_at(tp)
        return heard_at is not None and boot_time() - heard_at < _CURRENT_S

    async def perform_seek(self) -> None:
        """Seek the committed offsets, and take note of them: they are what the broker confirmed so far.

        A partition whose sessions are behind them is read again from where these are.
        """
        await super().perform_seek()
        for tp, offset in self._read_offset.items():
            if offset is not None:
                self._confirmed.setdefault(tp, offset)
        app = job_app(self.app)
        again = {tp: app.read_again_from(tp) for tp in self.assignment() if not self._is_changelog_tp(tp)}
        behind = {
            tp: since
            for tp, since in again.items()
            if since is not None and since < (self._confirmed.get(tp) or 0)
        }
        if not behind:
            return
        earliest = {ensure_TP(tp): offset for tp, offset in (await self.earliest_offsets(*behind)).items()}
        for tp, since in behind.items():
            committed, start = self._confirmed[tp], max(since, earliest.get(tp, since))
            if start > since:
                log.warning(
                    "%s[%s] begins at offset %s: the records from %s on that its sessions lack are deleted. "
                    "Their sessions go on without them. Keep records of the topic longer than workers may be "
                    "down (retention.ms).",
                    *tp,
                    start,
                    since,
                )
            log.info(
                "%s[%s] is read again from offset %s to %s: these records are put out, but their sessions "
                "were not written yet.",
                *tp,
                start,
                committed,
            )
            await self.seek(tp, start)
            self._read_offset[tp] = start

    async def wait_empty(self) -> None:
        """Wait until what was delivered is processed, and no guest uses a partition's state."""
        await super().wait_empty()
        app = job_app(self.app)
        for lanes in app.lanes.values():
            await lanes.without_guest()
        await app.before_release()

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
        offset = self._watermarks.get(tp)
        # What is read again is committed already.
        return None if offset is None or offset <= self._confirmed.get(tp, -1) else offset

    def confirm(self, tp: TP, offset: int) -> None:
        """Take note that a transaction has committed ``offset``."""
        self._confirmed[tp] = offset

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        if job_app(self.app).options.transport.commits_in_transactions:
            return True  # what is acknowledged was committed before
        try:
            done = await super()._commit(offsets)
        except ConsumerStoppedError:
            log.info(
                "The last offsets are not committed: the consumer has ended. Their records are read again."
            )
            return False
        if done:
            self._confirmed.update(offsets)
            self._on_crash_point(CrashPoint.COMMITTED)
        return done

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Drain and commit while the partitions are still ours, then forget their watermarks."""
        await super().on_partitions_revoked(revoked)
        for tp in revoked:
            self._watermarks.pop(tp, None)
            self._confirmed.pop(tp, None)
            self._first_delivered.pop(tp, None)
            self._fetched.pop(tp, None)
            self._read_to.pop(tp, None)


def _know_how_it_ended(delivered: asyncio.Future[Any]) -> None:
    """Keep asyncio from logging as an error that a rebalance has interrupted a delivery."""
    if not delivered.cancelled():
        delivered.exception()


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


def register() -> None:
    """Make ``runs://`` known to Faust."""
    TRANSPORTS.aliases[SCHEME] = f"{__name__}:RunTransport"
