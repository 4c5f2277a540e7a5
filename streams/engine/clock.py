"""The wall clock. It decides when state goes away, and nothing else: no score and no output depends on it."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Return the time, ms since 1970."""
    return time.time_ns() // 1_000_000
