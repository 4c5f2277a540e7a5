"""What there is to show at a moment: the sessions that need somebody, worst first, and the totals. Pure."""

from __future__ import annotations

import json
import zlib
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import fsum
from typing import Any, Final, NamedTuple

import orjson

from streams.console.inbox.listing import presence
from streams.console.inbox.row import row
from streams.console.read_model.attention import SILENT_MS, Attention, Class, Tab
from streams.console.read_model.model import ReadModel
from streams.core.domain.level import Level

MOST_STEPS: Final = 16
"""Steps that are kept of a session."""

MOST_SESSIONS: Final = 2_000
"""Sessions of which steps are kept: those with the newest records."""


class NewestSteps:
    """Enriched records, packed: they are 3 kB each, and there may be thousands.

    >>> steps = NewestSteps()
    >>> steps.add({"session_id": "s-17", "eddy": {"id": "s-17/0/4/enriched", "step": 5}})
    >>> [each["eddy"]["step"] for each in steps.of("s-17")], steps.of("s-18")
    ([5], [])
    """

    def __init__(self) -> None:
        self._packed: dict[str, deque[bytes]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in an enriched record."""
        session_id = record["session_id"]
        known = self._packed.pop(session_id, None) or deque[bytes](maxlen=MOST_STEPS)
        known.append(zlib.compress(_json(record), 1))
        self._packed[session_id] = known
        if len(self._packed) > MOST_SESSIONS:
            del self._packed[next(iter(self._packed))]

    def of(self, session_id: str) -> list[Mapping[str, Any]]:
        """Return what is kept of a session, oldest first."""
        return [json.loads(zlib.decompress(each)) for each in self._packed.get(session_id, ())]


def _json(record: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(record)
    except orjson.JSONEncodeError:  # logs may hold half a surrogate pair, and integers of any size
        return json.dumps(record, default=str).encode()


MOST_ROWS: Final = 200
"""Sessions that are listed; the totals are over all."""

LIVE_MINUTES: Final = SILENT_MS // 60_000
"""A session with a record within so many minutes is live."""

#: A suspicion alone stands for an hour, and says little about now.
_LEFT_OUT: Final = frozenset({Class.LOW, Class.ENDED, Class.RECOVERED})
_ORDER: Final = {Tab.NEEDS_YOU: 0, Tab.WATCHING: 1, Tab.HANDLED: 2}


class ReadingProgress(NamedTuple):
    """How far the reading is.

    Attributes:
        source: what is read, in words.
        behind: records that are still to be read; None while that is not known.
        notices: what went wrong lately, newest last.
        program: which command shows it.
    """

    source: str
    behind: int | None = None
    notices: tuple[str, ...] = ()
    program: str = "eddy top"


@dataclass(frozen=True, slots=True)
class Picture:
    """What is so at a moment.

    Attributes:
        reading: what it is read from.
        as_of: the moment, ms since 1970.
        newest: time of the newest record, ms since 1970; None before any.
        live: sessions with a record lately; None before anything was read.
        loop, may_loop, other: sessions at LOOP, at WARNING, and those that need a look for another reason.
        handled: sessions that are paused, aborted, acknowledged or snoozed, and in none of those counts.
        silent: sessions that are left out because they have been silent for too long.
        tokens, cost: what the sessions at LOOP have used since their loops began.
        empty: what to say if there is no row.
        rows: the worst sessions first, as the inbox has them (`streams.console.inbox.row`); ``newest`` is the
            time of the newest record, and ``records`` and ``tokens`` count up to that.
    """

    reading: ReadingProgress
    as_of: int
    newest: int | None
    live: int | None
    loop: int
    may_loop: int
    other: int
    handled: int
    silent: int
    tokens: float
    cost: float
    empty: str
    rows: tuple[Mapping[str, Any], ...]

    @property
    def ids(self) -> Sequence[str]:
        """The sessions of the rows."""
        return [row["session_id"] for row in self.rows]

    def document(self) -> dict[str, Any]:
        """Return it for machines."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "reading"}
        return {**self.reading._asdict(), **fields}


def picture(model: ReadModel, reading: ReadingProgress, now: int, within_ms: int) -> Picture:
    """Return what is so now.

    Args:
        model: Picture of what was read so far.
        reading: How far the source has been read.
        now: the moment, ms since 1970.
        within_ms: a session without a record for longer is left out.
    """
    known = [about for about in model.attention(now).values() if about.class_ not in _LEFT_OUT]
    found = [about for about in known if about.newest > now - within_ms]
    counts = Counter(map(_kind, found))
    looping = [about for about in found if _kind(about) == Level.LOOP]
    worst = nsmallest(MOST_ROWS, found, key=lambda about: (_ORDER[about.tab], about.position))
    # The model counts the live ones every five seconds: before anything was read, that is too early.
    said = None if reading.behind is None else presence(model, now)
    return Picture(
        reading=reading,
        as_of=now,
        newest=model.newest_ts,
        live=None if said is None else said["live"],
        loop=counts[Level.LOOP],
        may_loop=counts[Level.WARNING],
        other=counts[Level.NORMAL],
        handled=counts[None],
        silent=len(known) - len(found),
        tokens=fsum(about.tokens for about in looping),
        cost=fsum(about.cost for about in looping),
        empty="Reading ..." if said is None else said["sentence"],
        rows=tuple(_row(about, now) for about in worst),
    )


def _kind(about: Attention) -> str | None:
    """Return the verdict on a session; None if somebody has handled it."""
    if about.tab is Tab.HANDLED:
        return None
    return Level.NORMAL if about.episode is None else about.episode.level


def row_of(model: ReadModel, session_id: str, now: int) -> Mapping[str, Any] | None:
    """Return the row of a session, also of one that has recovered; None if nothing is known against it."""
    about = model.attention(now).get(session_id)
    return None if about is None else _row(about, now)


def _row(about: Attention, now: int) -> dict[str, Any]:
    """Return the row of the inbox, with the time of the newest record."""
    return {**row(about, about.control, now), "newest": about.newest}
