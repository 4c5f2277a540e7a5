"""Lets spans go whose partition has fallen silent: no record tells that their time is over."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

from streams.worker.faust.job_app import JobApp
from streams.worker.lifetime.housekeeper import WorkerInCharge
from streams.worker.lifetime.rounds import Rounds
from streams.worker.traces_epoch import TracesEpoch

_TICK_S: Final = 0.25


class _Silence(NamedTuple):
    """The offset that a partition has stood at, and since when (monotonic)."""

    offset: int
    since_s: float


class SilenceWatch(Rounds):
    """Moves the clock of silent partitions on.

    A partition is silent if everything in it is processed and nothing comes. Only then a replay may give the
    records of different traces in another order, or sort spans differently that came too late.

    Args:
        app: The worker's app.
        worker: What the worker knows of its partitions.
        late_s: As `Rounds` takes it.
    """

    def __init__(self, app: JobApp, worker: WorkerInCharge, *, late_s: float) -> None:
        super().__init__(app, tick_s=_TICK_S, late_s=late_s)
        self._worker = worker
        self._generation = -1
        self._silent: dict[int, _Silence] = {}
        #: Set when the worker starts.
        self.epoch: TracesEpoch | None = None

    async def tick(self, elapsed_s: float) -> None:
        """Let go what is due by the clock of the machine."""
        del elapsed_s
        if self.epoch is not None:
            await self._release_due(self.epoch, time.monotonic())

    async def _release_due(self, epoch: TracesEpoch, now: float) -> None:
        worker = self._worker
        generation, partitions = worker.in_charge()
        if generation != self._generation:
            self._generation = generation
            self._silent.clear()
        for partition in partitions:
            progress = epoch.progress(partition)
            if progress is None or not progress.waiting or not worker.has_read_all(partition):
                self._silent.pop(partition, None)
                continue
            silence = self._silent.get(partition)
            if silence is None or silence.offset != progress.offset:
                silence = self._silent[partition] = _Silence(progress.offset, now)
            time_ms = progress.time_ms + int(1000 * (now - silence.since_s))
            if time_ms < min(wait.due_ms for wait in progress.waiting.values()):
                continue
            async with worker.alone(partition):
                # A rebalance or a run may have come while this waited for the lane.
                in_charge = worker.in_charge() == (generation, partitions)
                if in_charge and worker.has_read_all(partition) and epoch.progress(partition) == progress:
                    await epoch.release_due(worker.topic, partition, time_ms)
