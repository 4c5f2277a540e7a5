"""How the process of an app stops: at a signal in order, at a second Ctrl-C at once."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from typing import Final, NoReturn

import faust

from streams.core.domain.text.figures import count, duration
from streams.worker.app import RunApp

#: A stop that takes longer says what it waits for; and again when twice that has passed, and so on.
_PATIENCE_S: Final = 5.0

#: What still runs so long after the app has stopped hangs, and holds nothing that is needed.
_GRACE_S: Final = 3.0

#: Exit status of what Ctrl-C has ended, as shells write it.
INTERRUPTED: Final = 128 + signal.SIGINT

log = logging.getLogger(__name__)


class StoppableWorker(faust.Worker):
    """Faust's worker, whose stop says what it waits for, can be cut short, and ends.

    An app may be ended at any point: what it had begun and not acknowledged is done again. So a second Ctrl-C
    ends it at once. Where no broker answers, it ends by itself once the group has given the partitions away,
    since nothing could be committed any more. What hangs once the app has stopped does not keep the process.

    Args:
        app: The app of a worker or of a bridge.
        log_level: The least level that is logged.
    """

    def __init__(self, app: RunApp, log_level: str) -> None:
        super().__init__(app, loglevel=log_level, redirect_stdouts=False, quiet=True)
        self._run_app = app
        self._interrupted = False
        self._reminder: asyncio.TimerHandle | None = None

    def _on_sigint(self) -> None:
        if self._interrupted:
            log.warning("Interrupted again: it ends at once. What it had begun is done again.")
            leave(INTERRUPTED)
        self._interrupted = True
        self._schedule_shutdown(signal.SIGINT)

    async def _stop_on_signal(self, signal: signal.Signals) -> None:
        # Timers and not tasks: mode cancels all tasks at its end, and waits a while longer.
        self._remind_after(_PATIENCE_S, self.loop.time())
        try:
            await super()._stop_on_signal(signal)
        finally:
            if self._reminder is not None:
                self._reminder.cancel()
        self.loop.call_later(_GRACE_S, stopped)

    def _remind_after(self, seconds: float, began: float) -> None:
        self._reminder = self.loop.call_later(seconds, self._remind, began)

    def _remind(self, began: float) -> None:
        app, passed_s = self._run_app, self.loop.time() - began
        silence = app.broker_silence()
        if silence is not None and not app.lease.held:
            log.warning(
                "%s: the group gives the partitions of this worker to others, and nothing that it has begun "
                "can be committed. It is done again.",
                silence,
            )
            stopped()
        runs, unwritten = sum(app.waiting().values()), sum(app.unwritten().values())
        log.warning(
            "Still stopping after %s. %s. A second Ctrl-C ends it at once; what it has begun is then done "
            "again.",
            duration(1_000 * passed_s),
            silence or _left(runs, unwritten),
        )
        self._remind_after(passed_s, began)


def _left(runs: int, unwritten: int) -> str:
    if runs:
        return f"{count(runs, 'run')} of records to do"
    return f"{count(unwritten, 'session')} to write" if unwritten else "Its clients are closed"


def stopped() -> NoReturn:
    """Say that all is done, and end the process, also one that a hanging thread would keep."""
    log.info("Stopped.")
    leave(0)


def leave(status: int) -> NoReturn:
    """End the process now, whatever runs."""
    logging.shutdown()
    os._exit(status)
