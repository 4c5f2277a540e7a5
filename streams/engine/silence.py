"""Lets spans go whose partition has fallen silent: no record tells that their time is over."""

from __future__ import annotations

import logging
import time
from typing import Final, NamedTuple

from mode import Service

from streams.engine.faust_seam.job_app import JobApp
from streams.engine.lifetime.housekeeper import WorkerInCharge
from streams.engine.traces_epoch import TracesEpoch
from streams.errors import DamagedStateError, ProducerFencedError

_TICK_S: Final = 0.25

log = logging.getLogger(__name__)


class _Silence(NamedTuple):
    """The offset that a partition has stood at, and since when (monotonic)."""

    offset: int
    since_s: float


class SilenceWatch(Service):
    """Moves the clock of silent partitions on; an error in that stops the worker.

    A partition is silent if everything in it is processed and nothing comes. Only then a replay may give the
    records of different traces in another order, or sort spans differently that came too late.

    Args:
        app: The worker's app.
        worker: What the worker knows of its partitions.
        late_s: A tick that comes so much later than it should belongs to a worker that was suspended, and may
            have been taken for dead. It does nothing, so that the group can tell it first.
    """

    def __init__(self, app: JobApp, worker: WorkerInCharge, *, late_s: float) -> None:
        self._app = app
        self._worker = worker
        self._late_s = late_s
        self._generation = -1
        self._silent: dict[int, _Silence] = {}
        #: Set when the worker starts.
        self.epoch: TracesEpoch | None = None
        super().__init__()

    @Service.task
    async def _watch(self) -> None:
        before = time.monotonic()
        while not self.should_stop:
            await self.sleep(_TICK_S)
            now = time.monotonic()
            elapsed_s, before = now - before, now
            if self.epoch is None or self._app.should_stop or elapsed_s > _TICK_S + self._late_s:
                continue
            try:
                await self._tick(self.epoch, now)
            except ProducerFencedError:
                log.info("Another worker owns a partition: held spans wait for the next assignment.")
            except DamagedStateError as error:
                self._app.restore_again(error)
            except Exception as error:  # noqa: BLE001 - whatever it is, nothing may go on as if it was not
                await self._app.crash(error)
                return

    async def _tick(self, epoch: TracesEpoch, now: float) -> None:
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
