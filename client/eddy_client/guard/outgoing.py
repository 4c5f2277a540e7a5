"""Acks that wait to be sent."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from eddy_client.rare_log import RareLog

log = logging.getLogger("eddy_client.guard.outgoing")
log.addFilter(RareLog())

Acks = Sequence[Mapping[str, Any]]


class Outgoing:
    """A queue of acks, so many at most. If it is full, the oldest is left out, and the log says so.

    Args:
        most: How many may wait.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._waiting: deque[Mapping[str, Any]] = deque(maxlen=most)
        # A signal handler of the agent may put an ack while its thread is putting one.
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, ack: Mapping[str, Any]) -> None:
        """Put an ack behind the others."""
        with self._lock:
            if len(self._waiting) == self._most:
                self._leave_out()
            self._waiting.append(ack)

    def take(self, most: int) -> Acks:
        """Remove the oldest acks, and return them."""
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), most))]

    def put_back(self, acks: Acks) -> None:
        """Put acks before the others."""
        with self._lock:
            room = self._most - len(self._waiting)
            if len(acks) > room:
                self._leave_out()
            self._waiting.extendleft(reversed(acks[max(0, len(acks) - room) :]))

    @staticmethod
    def _leave_out() -> None:
        log.warning("Operators are away for so long that the oldest acknowledgements are left out.")
