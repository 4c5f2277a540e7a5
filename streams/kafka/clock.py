"""The clock that decides when state goes away, and nothing else: no score and no value depends on it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

#: A machine whose clock is so far from the brokers' is reported, seconds. An answer that had to be asked for
#: again reports the time of the first attempt.
_FAR_S = 300.0

log = logging.getLogger(__name__)


def now_ms() -> int:
    """Return the time of this machine, ms since 1970."""
    return time.time_ns() // 1_000_000


def boot_time() -> float:
    """Return seconds since some moment, time in suspension included where the system counts it."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class ClusterClock:
    """The time of the brokers, as far as a worker has heard it; that of its machine until then.

    A topic with `message.timestamp.type=LogAppendTime` answers a write with the broker's time of it. From
    then on the time is that, plus what a monotonic clock has counted since. So a worker whose machine
    has the wrong time removes state when the others would. May be read in any thread.

    Args:
        wall_ms: This machine's time, ms since 1970.
        elapsed_s: Seconds since some moment, by a monotonic clock.
    """

    def __init__(
        self, wall_ms: Callable[[], int] = now_ms, elapsed_s: Callable[[], float] = boot_time
    ) -> None:
        self._wall_ms = wall_ms
        self.elapsed_s = elapsed_s
        #: Whether a broker was asked for its time, and answered, or has none to report.
        self.asked = False
        self._began_ms: float | None = None
        self._warned = False

    def heard(self, appended_ms: int | None) -> None:
        """Note when a broker has just appended a write, ms; None where the broker does not report it."""
        self.asked = True
        if appended_ms is None:
            return
        self._began_ms = appended_ms - 1000 * self.elapsed_s()
        ahead_s = self.ahead_s
        if ahead_s is not None and abs(ahead_s) >= _FAR_S and not self._warned:
            self._warned = True
            log.warning(
                "The clock of this machine is %.0f s %s that of the brokers. The worker goes by the brokers' "
                "time. Check the clocks (NTP) of this machine and of the brokers.",
                abs(ahead_s),
                "ahead of" if ahead_s > 0 else "behind",
            )

    @property
    def ahead_s(self) -> float | None:
        """How far this machine's clock is ahead of the brokers', seconds; None where none has reported."""
        began_ms = self._began_ms
        return None if began_ms is None else (self._wall_ms() - began_ms) / 1000 - self.elapsed_s()

    def now_ms(self) -> int:
        """Return the time, ms since 1970."""
        return self.at_ms(self.elapsed_s())

    def at_ms(self, elapsed_s: float) -> int:
        """Return what the time was, or will be, when `elapsed_s` says so, ms since 1970."""
        began_ms = self._began_ms
        if began_ms is None:
            return round(self._wall_ms() + 1000 * (elapsed_s - self.elapsed_s()))
        return round(began_ms + 1000 * elapsed_s)
