"""How far a restore is, for those who wait for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

#: Between two lines. What takes less is worth none.
_EVERY_SECONDS = 10.0

log = logging.getLogger(__name__)


class RestoreProgress:
    """Counts the offsets of a changelog that are read, and reports every ten seconds how many are left.

    Args:
        topic: Name of the changelog that is read.
        now: Seconds, by a monotonic clock.
    """

    def __init__(self, topic: str, now: Callable[[], float] = time.monotonic) -> None:
        self._topic = topic
        self._now = now
        self._began_at = self._said_at = now()
        self._total = self._done = 0

    def expect(self, offsets: int) -> None:
        """Take note that so many more have to be read."""
        self._total += offsets

    def advance(self, offsets: int) -> None:
        """Take note that so many more are read, and report when it is time."""
        self._done += offsets
        now = self._now()
        if now - self._said_at < _EVERY_SECONDS or self._done >= self._total:
            return
        self._said_at = now
        rate = self._done / (now - self._began_at)
        left = (
            f"{(self._total - self._done) / rate:,.0f} s left at {rate:,.0f} a second" if rate else "waiting"
        )
        log.info(
            "Restoring from %s: %s of %s offsets (%d %%), %s.",
            self._topic,
            f"{self._done:,}",
            f"{self._total:,}",
            100 * self._done // self._total,
            left,
        )
