"""What a worker does now and then, beside its runs, while it is in charge of its partitions."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod

from mode import Service

from streams.core.errors import DamagedStateError, ProducerFencedError
from streams.worker.faust.job_app import JobApp

log = logging.getLogger(__name__)


class PeriodicRounds(Service):
    """Calls `tick` again and again; an error in it stops the worker.

    Args:
        app: The Faust app that an error stops.
        tick_s: Between two ticks, seconds.
        late_s: A tick that comes so much later than it should belongs to a worker that was suspended, and may
            have been taken for dead. It does nothing, so that the group can tell it first.
    """

    def __init__(self, app: JobApp, *, tick_s: float, late_s: float) -> None:
        self._app = app
        self._tick_s = tick_s
        self._late_s = late_s
        super().__init__()

    @abstractmethod
    async def tick(self, elapsed_s: float) -> None:
        """Do what is due, so long after the last tick."""

    @Service.task
    async def _go_round(self) -> None:
        before = time.monotonic()
        while not self.should_stop:
            await self.sleep(self._tick_s)
            now = time.monotonic()
            elapsed_s, before = now - before, now
            if self._app.should_stop or elapsed_s > self._tick_s + self._late_s:
                continue
            try:
                await self.tick(elapsed_s)
            except ProducerFencedError:
                log.info("Another worker owns a partition: what is due there waits for the next assignment.")
            except DamagedStateError as error:
                self._app.restore_again(error)
            except Exception as error:  # noqa: BLE001 - whatever it is, nothing may go on as if it was not
                await self._app.crash(error)
                return
