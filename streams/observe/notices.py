"""Log lines for a screen that has no room for a log: the newest warnings, as texts."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from streams.core.domain.text.clock import clock as time_of_day

_MOST: Final = 3
_SHOWN_MS: Final = 600_000


class Notices(logging.Handler):
    """Takes warnings and errors instead of a stream.

    Args:
        clock: Returns the time in milliseconds since 1970.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__(logging.WARNING)
        self._clock = clock
        self._newest: deque[tuple[int, str]] = deque(maxlen=_MOST)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what a record says, without its traceback."""
        who = "Kafka client: " if record.name.startswith("aiokafka") else ""
        self._newest.append((self._clock(), f"{who}{record.getMessage()}"))

    def recent(self) -> tuple[str, ...]:
        """Return what was said in the last ten minutes, oldest first, each with its time."""
        since = self._clock() - _SHOWN_MS
        return tuple(f"{time_of_day(at)} {text}" for at, text in self._newest if at > since)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take all that is logged, and Python's warnings, for as long as the block lasts."""
        root = logging.getLogger()
        before, root.handlers = root.handlers, [self]
        logging.captureWarnings(capture=True)
        try:
            yield
        finally:
            logging.captureWarnings(capture=False)
            root.handlers = before
