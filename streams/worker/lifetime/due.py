"""Which sessions housekeeping may remove: those that are kept for no longer, and can be read."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import NamedTuple

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.session import DamagedSessionError, Session
from streams.core.errors import StateError
from streams.core.pipeline import Expired, expire
from streams.core.policy.state_limits import kept_until
from streams.worker.state.changelog import decode_session

#: A time that does not come, and an offset that no record has.
NEVER = 1 << 62


@dataclass(slots=True)
class SearchPass:
    """How far the search of a partition is.

    Attributes:
        began_ms: when it began. What is written behind it stays longer than what is there.
        notes_stubs: whether stubs that stay are noted; those that later epochs write are noted by these.
        most: sessions that contribute and are kept back, at most.
        after: the last key seen.
        next_ms: of what was seen and stays, when the first may go.
        floor: of what was seen and stays, the smallest offset.
        contributing: the due sessions that contribute: those with the smallest offsets, the largest of them
            first (a heap of negated offsets).
    """

    began_ms: int
    notes_stubs: bool
    most: int
    after: bytes = b""
    next_ms: int = NEVER
    floor: int = NEVER
    contributing: list[tuple[int, str]] = field(default_factory=list)

    def stays(self, until_ms: int, offset: int) -> None:
        """Take note of a session that stays until then at least."""
        self.next_ms = min(self.next_ms, until_ms + 1)
        self.floor = min(self.floor, offset)

    def keep_back(self, offset: int, name: str) -> None:
        """Take note of a session that contributes."""
        item = (-offset, name)
        if len(self.contributing) < self.most:
            heappush(self.contributing, item)
        else:
            beyond, _ = heappushpop(self.contributing, item)
            self.stays(-1, -beyond)

    def ready(self) -> list[str]:
        """Return who may go after the whole of the partition was seen, in order."""
        return [name for negated, name in sorted(self.contributing, reverse=True) if -negated < self.floor]


class Next(NamedTuple):
    """When a partition is searched again, at the latest when sessions are not kept for ``keeps`` any more."""

    at_ms: int = 0
    keeps: int | None = None


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


class Due(NamedTuple):
    """A session that may be removed, up to when it was kept (ms), and what its removal reports."""

    session: Session
    until_ms: int
    expired: Expired


def due_of(
    name: str, entry: tuple[int, bytes], settings: DetectionSettings, now_ms: int
) -> Due | tuple[int, int] | None:
    """Return a session that may go; of one that stays till when, and its offset; of a broken one None."""
    touched_ms, value = entry
    session = readable(name, value)
    if session is None:
        return None
    until = kept_until(session, touched_ms, settings)
    if until is None or until >= now_ms:
        return NEVER if until is None else until, session.offset
    try:
        return Due(session, until, expire(name, session, settings))
    except DamagedSessionError as error:
        log.warning("The state of session %r stays, however old it is: %s", name, error)
        return None
