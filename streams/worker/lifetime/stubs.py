"""What housekeeping finds: stubs of ended sessions without a search, and sessions that can be read."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from streams.core.domain.session import Session
from streams.core.errors import StateError
from streams.worker.state.changelog import decode_session

#: Stubs of a partition that are noted at most; a search finds the others.
MOST_STUBS = 50_000

log = logging.getLogger(__name__)


class Stub(NamedTuple):
    """The stub of a session that has ended, as it was written at that time (ms)."""

    offset: int
    at_ms: int
    session_id: str


class Stubs:
    """Stubs of a partition that epochs have written, oldest first; ``lost`` when there were too many."""

    __slots__ = ("lost", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Stub] = deque(maxlen=MOST_STUBS)
        self.lost = False

    def add(self, stubs: Sequence[Stub]) -> None:
        """Take note of more."""
        self.lost |= len(self.waiting) + len(stubs) > MOST_STUBS
        self.waiting.extend(stubs)


def readable(name: str, value: bytes | None) -> Session | None:
    """Return a session; None when there is none, or when it cannot be read: then it stays as it is."""
    if value is None:
        return None
    try:
        return decode_session(value)
    except StateError as error:
        log.warning("The state of session %r stays, however old it is. %s", name, error)
        return None
