"""One lane per partition: strict order inside, overlap between.

While one partition's epoch waits for the broker's acknowledgement, the others use the CPU. Faust's own
``concurrency`` would let two runs of one partition overtake each other; a lane never does.

What waits in a lane meanwhile is joined into the next run: an epoch takes about as long for 5 records as for
50, so small runs one after another would be late as soon as they come faster than the broker acknowledges.

Each epoch costs the worker about the same whether it has one record or twenty. Lanes that begin whenever a
record comes have runs of a record or two, and a request for each of their waits. Lanes that begin together
share the requests, and what comes meanwhile is in the next run of its partition.

Each lane still has its own epoch. A partition that stands still, since its leader is gone, holds the others
back for a moment at each start, and no longer: they do not wait for it to the end.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from streams.core.domain.run import Run
from streams.core.errors import DamagedStateError, ProducerFencedError
from streams.worker.crash_point import CrashPoint, crash_point

#: A lane that comes first waits so long for the others that the same poll has brought.
_GATHER_S = 0.001


class JointStart:
    """Where lanes wait before they begin.

    Args:
        patience_s: A lane waits at most so long for those that are at work.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._at_work = 0
        self._next: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self) -> None:
        """Return when no lane is at work, together with all others that wait; or when patience ends."""
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            self._timer = loop.call_later(self._patience_s if self._at_work else _GATHER_S, self._start)
        # A lane that is cancelled must not take the others with it.
        await asyncio.shield(self._next)

    def begin(self) -> None:
        """Take note that a lane is at work."""
        self._at_work += 1

    def end(self) -> None:
        """Take note that it is not any more."""
        self._at_work -= 1
        if self._at_work == 0 and self._next is not None:
            self._start()

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._next is not None:
            self._next.set_result(None)
        self._timer = self._next = None


Process = Callable[[Run], Awaitable[None]]
"""Carries a run out; returns when it may be acknowledged."""


class LaneDelivery(Protocol):
    """A run on its way, as Faust delivered it."""

    @property
    def run(self) -> Run:
        """The records."""

    @property
    def stale(self) -> bool:
        """Whether the partition was revoked, or the worker is stopping, since it was delivered."""

    async def acknowledge(self) -> None:
        """Tell the consumer that the run may be committed."""

    def abandon(self) -> None:
        """Tell the consumer that the run was not begun and will be read again."""


class _Waiting(asyncio.Queue[LaneDelivery]):
    """The runs that wait in a lane; ``urgent`` while they take up half of it."""

    _queue: deque[LaneDelivery]

    def __init__(self, maxsize: int) -> None:
        super().__init__(maxsize)
        self.urgent = asyncio.Event()

    def _put(self, item: LaneDelivery) -> None:
        super()._put(item)
        if 2 * self.qsize() >= self.maxsize:
            self.urgent.set()

    def _get(self) -> LaneDelivery:
        item = super()._get()
        if 2 * self.qsize() < self.maxsize:
            self.urgent.clear()
        return item

    def take_fitting(self, records: int, size: int) -> LaneDelivery | None:
        """Take the next run if it has at most so many records and bytes of values."""
        if not self._queue:
            return None
        run = self._queue[0].run
        return self.get_nowait() if len(run) <= records and run.size <= size else None


class Lanes:
    """Runs of each partition, processed one after another by a task of its own.

    Args:
        process: Carries out the epoch of a run.
        fail: Called with the error of a failed epoch; has to stop the worker, since the lane stops.
        damaged: Called with the error of an epoch that met a damaged database; no run may begin afterwards
            until that is restored.
        max_runs: How many runs wait in a lane before delivery blocks. More than one poll can hold, or a
            deep partition blocks the others.
        max_records: Waiting runs are joined up to so many records. Default: they are not.
        max_bytes: And up to so many bytes of values.
        pause_s: A lane rests so long after each epoch, unless it fills up: what comes meanwhile is one run.
        patience_s: Lanes begin together (`JointStart`), and wait at most so long for each other. Default:
            each begins when it has a run.
        on_crash_point: Told when a run is acknowledged.
    """

    def __init__(
        self,
        process: Process,
        fail: Callable[[BaseException], Awaitable[None]],
        *,
        damaged: Callable[[DamagedStateError], None],
        max_runs: int,
        max_records: int = 1,
        max_bytes: int = 1 << 20,
        pause_s: float = 0.0,
        patience_s: float = 0.0,
        on_crash_point: Callable[[CrashPoint], None] | None = None,
    ) -> None:
        self._process = process
        self._fail = fail
        self._damaged = damaged
        self._max_runs = max_runs
        self._max_records = max_records
        self._max_bytes = max_bytes
        self._queues: dict[int, _Waiting] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._turns: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._guests = 0
        self._no_guest = asyncio.Event()
        self._no_guest.set()
        self._pause_s = pause_s
        self._joint_start = JointStart(patience_s) if patience_s else None
        self._on_crash_point = on_crash_point or crash_point()
        self._stopping = False
        self._last_words: asyncio.Future[None] | None = None

    async def put(self, delivery: LaneDelivery) -> None:
        """Queue a run; waits while its lane is full. One that is stale is dropped: a drain waits for it."""
        if _is_stale(delivery):
            delivery.abandon()
            return
        partition = delivery.run.partition
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = _Waiting(self._max_runs)
            task = self._tasks[partition] = asyncio.create_task(
                self._drive(queue, self._turns[partition]), name=f"lane-{partition}"
            )
            task.add_done_callback(self._ended)
        await queue.put(delivery)
        if _is_stale(delivery):  # since the lane was full; it is dropped when its turn comes
            queue.urgent.set()

    async def _drive(self, queue: _Waiting, turn: asyncio.Lock) -> None:
        together = self._joint_start
        while True:
            delivery = await queue.get()
            # A full run shares no cost with others, and they would wait for it.
            if together is not None and not self._is_full(delivery.run, queue):
                await together.wait()
            async with turn:
                if delivery.stale:
                    delivery.abandon()
                    continue
                # Nothing that was delivered after a run that is not stale can be stale: nobody waits in
                # between.
                if together is not None:
                    together.begin()
                try:
                    if not await self._finish(self._join(delivery, queue)):
                        return
                finally:
                    if together is not None:
                        together.end()
            if self._pause_s:
                with suppress(TimeoutError):
                    await asyncio.wait_for(queue.urgent.wait(), self._pause_s)

    async def _finish(self, joined: deque[LaneDelivery]) -> bool:
        """Process deliveries as one run; False when that failed and the lane has to end."""
        try:
            await self._process(Run.joined([delivery.run for delivery in joined]))
            while joined:
                await joined[0].acknowledge()
                joined.popleft()
        except ProducerFencedError:
            for delivery in joined:
                delivery.abandon()
        except DamagedStateError as error:
            for delivery in joined:
                delivery.abandon()
            self._damaged(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing may be acknowledged after it
            for delivery in joined:
                delivery.abandon()
            await self._fail(error)
            return False
        else:
            self._on_crash_point(CrashPoint.ACKED)
        return True

    def _is_full(self, run: Run, queue: _Waiting) -> bool:
        return queue.urgent.is_set() or 2 * len(run) >= self._max_records or 2 * run.size >= self._max_bytes

    def _join(self, first: LaneDelivery, queue: _Waiting) -> deque[LaneDelivery]:
        """Take what waits behind ``first`` and fits into one run with it."""
        joined = deque([first])
        records, size = self._max_records - len(first.run), self._max_bytes - first.run.size
        while (delivery := queue.take_fitting(records, size)) is not None:
            joined.append(delivery)
            records -= len(delivery.run)
            size -= delivery.run.size
        return joined

    @asynccontextmanager
    async def between_runs(self, partition: int) -> AsyncIterator[None]:
        """Have a lane to oneself between two of its runs.

        Whatever the guest was sure of may have changed while it waited. A rebalance waits for it, so it must
        not stay for long.
        """
        self._guests += 1
        self._no_guest.clear()
        try:
            async with self._turns[partition]:
                yield
        finally:
            self._guests -= 1
            if not self._guests:
                self._no_guest.set()

    async def without_guest(self) -> None:
        """Wait until no lane has a guest, nor one that waits for its turn."""
        await self._no_guest.wait()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Stop the worker when a lane ends by itself: its partition would stand still without a word."""
        if self._stopping or (not task.cancelled() and task.exception() is None):
            return
        cause = None if task.cancelled() else task.exception()
        self._last_words = asyncio.ensure_future(
            self._fail(cause or RuntimeError(f"{task.get_name()} was cancelled"))
        )

    def abandon(self) -> None:
        """Drop every run that has not begun; a run that has begun continues to its end."""
        for queue in self._queues.values():
            while not queue.empty():
                queue.get_nowait().abandon()

    def waiting(self) -> dict[int, int]:
        """Return how many runs wait, by partition."""
        return {partition: queue.qsize() for partition, queue in self._queues.items()}

    async def stop(self) -> None:
        """End the lanes; what they were doing is cancelled."""
        self._stopping = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()
        self._queues.clear()


def _is_stale(delivery: LaneDelivery) -> bool:
    """Ask each time: the answer changes while a delivery waits."""
    return delivery.stale
