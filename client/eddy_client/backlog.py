"""Records that wait to be sent: so many and so many bytes at most. To put one never waits."""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import Any, NamedTuple

_OVERHEAD = 400
"""Bytes that a record takes beside its texts, about."""


class PendingRecord(NamedTuple):
    """A record that waits, the bytes that it counts for, and how many missing records it reports."""

    session_id: str
    record: dict[str, Any]
    size: int
    gap: int


class Backlog:
    """A queue between the agent and the thread that sends.

    If it is full, the newest record is dropped. The next one of its session that finds room says how many are
    missing before it, see `gap`.

    Args:
        most_records: How many records may wait.
        most_bytes: How many bytes of texts may wait.
    """

    def __init__(self, most_records: int, most_bytes: int) -> None:
        self._most_records, self._most_bytes = most_records, most_bytes
        self._waiting: deque[PendingRecord] = deque()
        self._bytes = 0
        self._gaps: Counter[str] = Counter()
        # A signal handler of the agent may put a record while its thread is putting one.
        self._lock = threading.RLock()
        self.arrived = threading.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def has_room(self, texts: int) -> bool:
        """Tell whether a record with so many bytes of texts finds room."""
        return len(self._waiting) < self._most_records and self._bytes + texts + _OVERHEAD <= self._most_bytes

    def gap(self, session_id: str) -> int:
        """Return how many records of a session are missing and not reported yet."""
        return self._gaps.get(session_id, 0)

    def put(self, session_id: str, record: dict[str, Any], texts: int, gap: int = 0) -> bool:
        """Put a record; return False if it is dropped. `gap` is how many missing records it reports."""
        with self._lock:
            if not self.has_room(texts):
                self._gaps[session_id] += 1
                return False
            self._gaps[session_id] -= gap  # no more: the thread that sends may have lost another meanwhile
            if self._gaps[session_id] <= 0:
                del self._gaps[session_id]
            self._waiting.append(PendingRecord(session_id, record, texts + _OVERHEAD, gap))
            self._bytes += texts + _OVERHEAD
        self.arrived.set()
        return True

    def lost(self, record: PendingRecord) -> None:
        """Count a record that was taken and could not be sent, and the missing ones that it reported."""
        with self._lock:
            self._gaps[record.session_id] += 1 + record.gap

    def take(self) -> PendingRecord | None:
        """Return the oldest record, None if none waits. It counts until `done`."""
        with self._lock:
            if not self._waiting:
                self.arrived.clear()
                return None
            return self._waiting[0]

    def done(self) -> None:
        """Remove the oldest record."""
        with self._lock:
            self._bytes -= self._waiting.popleft().size

    def clear(self) -> int:
        """Remove all records; return how many there were."""
        with self._lock:
            left = len(self._waiting)
            self._waiting.clear()
            self._bytes = 0
        return left
