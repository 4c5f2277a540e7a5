"""A log that says the same at most once a minute."""

from __future__ import annotations

import logging
import time

_PAUSE_S = 60.0


class RareLog(logging.Filter):
    """Lets one record a minute through."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record may be written."""
        del record
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + _PAUSE_S
        return True
