"""The map: a cell for each session, in an area for each group, that stays where it is. Pure.

Where cells stand: a session keeps its slot for as long as it is known, a group its place. The number of slots
of a group is a power of two and never falls, so that its area seldom grows. Slots are numbered along a
Z-shaped curve (`streams/console/static/honeycomb.js`), on which a slot keeps its position when the area
doubles: nothing jumps.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

from streams.console.inbox.row import row
from streams.console.inbox.session_list import NODES, node_at, session_row
from streams.console.inbox.terms import rate, tools
from streams.console.read_model.attention import Attention
from streams.console.read_model.case import Case
from streams.console.read_model.seen import SessionsSeen
from streams.core.domain.level import Level, NodeState
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError


class Seat(NamedTuple):
    """Where a session stands: the number of its group, and its slot there."""

    place: int
    slot: int


class Area(NamedTuple):
    """A group: its name, its number, how many slots its area has, and who stands in each used one."""

    name: str
    place: int
    capacity: int
    sessions: tuple[str | None, ...]


class _Group:
    __slots__ = ("free", "place", "sessions")

    def __init__(self, place: int) -> None:
        self.place = place
        self.sessions: list[str | None] = []
        self.free: list[int] = []

    def enter(self, session_id: str) -> int:
        if self.free:
            slot = heappop(self.free)
            self.sessions[slot] = session_id
            return slot
        self.sessions.append(session_id)
        return len(self.sessions) - 1

    def leave(self, slot: int) -> None:
        self.sessions[slot] = None
        heappush(self.free, slot)

    @property
    def is_empty(self) -> bool:
        return len(self.free) == len(self.sessions)


class Seating:
    """The seats of all sessions. Groups are numbered in the order in which they come.

    >>> seating = Seating()
    >>> seating.settle({"s-1": "coder", "s-2": "coder", "s-3": "planner"})
    >>> seating.settle({"s-2": "coder", "s-3": "planner", "s-4": "coder", "s-5": "coder"})
    >>> [(area.name, area.capacity, area.sessions) for area in seating.areas()]
    [('coder', 4, ('s-4', 's-2', 's-5')), ('planner', 1, ('s-3',))]
    >>> seating.session(Seat(0, 1)), seating.seat("s-3")
    ('s-2', Seat(place=1, slot=0))
    """

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self._names: dict[int, str] = {}
        self._seats: dict[str, tuple[str, int]] = {}
        self._next = 0

    def settle(self, members: Mapping[str, str]) -> None:
        """Let those leave who are gone, or belong to another group now; then give the new ones a slot.

        Args:
            members: The group of each session.
        """
        for session_id, (name, slot) in list(self._seats.items()):
            if members.get(session_id) != name:
                del self._seats[session_id]
                self._groups[name].leave(slot)
        for session_id, name in members.items():
            if session_id not in self._seats:
                self._seats[session_id] = name, self._group(name).enter(session_id)
        for name in [name for name, group in self._groups.items() if group.is_empty]:
            del self._names[self._groups.pop(name).place]

    def _group(self, name: str) -> _Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group(self._next)
            self._names[self._next] = name
            self._next += 1
        return group

    def seat(self, session_id: str) -> Seat | None:
        """Return where a session stands, None if it is not there."""
        found = self._seats.get(session_id)
        return None if found is None else Seat(self._groups[found[0]].place, found[1])

    def session(self, seat: Seat) -> str | None:
        """Return who stands at a seat, None if it is empty or there is none such."""
        group = self._groups.get(self._names.get(seat.place, ""))
        if group is None or group.place != seat.place or not 0 <= seat.slot < len(group.sessions):
            return None
        return group.sessions[seat.slot]

    def areas(self) -> list[Area]:
        """Return the groups by their numbers."""
        return [
            Area(name, group.place, capacity_of(len(group.sessions)), tuple(group.sessions))
            for name, group in sorted(self._groups.items(), key=lambda each: each[1].place)
        ]


def capacity_of(slots: int) -> int:
    """Return the smallest power of two that holds so many slots.

    >>> [capacity_of(slots) for slots in (0, 1, 2, 3, 8, 9)]
    [1, 1, 2, 4, 8, 16]
    """
    return 1 << max(0, slots - 1).bit_length()


#: Above this the map has a bar for each group, and no cells.
MOST_CELLS: Final = 20_000

#: Sessions that a group names beside its counts.
MOST_NAMED: Final = 12

#: The letter of each state in the cells of a group; an empty slot has a full stop.
LETTERS: Final = {
    str(NodeState.ALERT_ENTROPY): "l",
    str(NodeState.BLOCKED): "b",
    "paused": "p",
    str(NodeState.ACTIVE): "a",
    str(NodeState.IDLE): "i",
}
EMPTY: Final = "."

#: What people call the states, those that need somebody first.
WORDS: Final = {
    str(NodeState.ALERT_ENTROPY): "looping",
    str(NodeState.BLOCKED): "blocked",
    "paused": "paused",
    str(NodeState.ACTIVE): "active",
    str(NodeState.IDLE): "idle",
}

_NAMED: Final = (str(NodeState.ALERT_ENTROPY), str(NodeState.BLOCKED), "paused")


class By(StrEnum):
    """What sessions are grouped by."""

    AGENT = "agent"
    AGENT_TYPE = "agent_type"
    TASK_TYPE = "task_type"
    CLUSTER = "cluster"


_GROUPS: Final[Mapping[By, Callable[[Case], str | None]]] = {
    By.AGENT: lambda case: case.session.agent_id,
    By.AGENT_TYPE: lambda case: case.session.agent_type,
    By.TASK_TYPE: lambda case: case.session.task_type,
    By.CLUSTER: lambda case: case.session.cluster_id,
}


@dataclass(frozen=True, slots=True)
class MapQuery:
    """A question to the map: what to group by, and the state that stands out, empty for all."""

    by: By = By.AGENT
    state: str = ""

    @classmethod
    def parse(cls, params: Mapping[str, str]) -> MapQuery:
        """Read the parameters of the page.

        Raises:
            ConfigurationError: names what is wrong.
        """
        by, state = params.get("by") or By.AGENT, params.get("state", "")
        if by not in set(By):
            raise ConfigurationError(f'Unknown group "{printable(by, 40)}". Known are {", ".join(By)}.')
        if state and state not in NODES:
            raise ConfigurationError(f'Unknown state "{printable(state, 40)}". Known are {", ".join(NODES)}.')
        return cls(By(by), state)


@dataclass(slots=True)
class SessionMap:
    """The seats of each grouping: they live as long as the console does."""

    seatings: dict[By, Seating] = field(default_factory=lambda: {by: Seating() for by in By})

    def settled(self, model: SessionsSeen, by: By) -> Seating:
        """Return the seats of a grouping, with everybody who is known now."""
        seating, group = self.seatings[by], _GROUPS[by]
        seating.settle({session_id: group(case) or "" for session_id, case in model.cases.items()})
        return seating


def picture(model: SessionsSeen, seating: Seating, now: int) -> dict[str, Any]:
    """Return the groups with their cells and counts, those that need somebody first, and the totals."""
    states = states_at(model, now)
    with_cells = len(states) <= MOST_CELLS
    groups = [group_content(area, states, with_cells=with_cells) for area in seating.areas()]
    groups.sort(key=_urgency)
    counts = Counter(states.values())
    return {
        "groups": groups,
        "states": [
            {"name": name, "word": word, "count": counts[name], "letter": LETTERS[name]}
            for name, word in WORDS.items()
        ],
        "sessions": len(states),
        "cells": with_cells,
    }


def states_at(model: SessionsSeen, now: int) -> dict[str, str]:
    """Return the state of each session: that of its node, or of its open episode if that is worse.

    The topology may follow the uniqueness of steps alone; the map must not call active what the inbox calls a
    loop.
    """
    states = {session_id: node_at(model, case, now) for session_id, case in model.cases.items()}
    for session_id, about in model.attention(now).items():
        if about.episode is not None and about.episode.open and session_id in states:
            found = _OF_LEVEL.get(about.episode.level)
            if found is not None and _CALMER.get(states[session_id], 0) < _CALMER[found]:
                states[session_id] = found
    return states


#: What an open episode makes of a session that is neither silent nor paused.
_OF_LEVEL: Final = {str(Level.LOOP): str(NodeState.ALERT_ENTROPY), str(Level.WARNING): str(NodeState.BLOCKED)}
_CALMER: Final = {
    str(NodeState.ACTIVE): 0,
    str(NodeState.BLOCKED): 1,
    str(NodeState.ALERT_ENTROPY): 2,
    str(NodeState.IDLE): 3,
    "paused": 3,
}


def group_content(area: Area, states: Mapping[str, str], *, with_cells: bool) -> dict[str, Any]:
    """Return what the map and the table show of a group."""
    here = [None if each is None else states.get(each) for each in area.sessions]
    counts = Counter(state for state in here if state is not None)
    waiting = [
        (_NAMED.index(state), session_id)
        for session_id, state in zip(area.sessions, here, strict=True)
        if session_id is not None and state in _NAMED
    ]
    return {
        "name": area.name,
        "place": area.place,
        "capacity": area.capacity,
        "sessions": counts.total(),
        "counts": {name: counts[name] for name in WORDS},
        "cells": "".join(map(_letter, here)) if with_cells else None,
        "named": [
            {"session_id": session_id, "state": _NAMED[rank], "word": WORDS[_NAMED[rank]]}
            for rank, session_id in sorted(waiting)[:MOST_NAMED]
        ],
        "unnamed": max(0, len(waiting) - MOST_NAMED),
    }


def _letter(state: str | None) -> str:
    return EMPTY if state is None else LETTERS.get(state, LETTERS[NodeState.ACTIVE])


def _urgency(group: Mapping[str, Any]) -> tuple[int, int, int]:
    counts = group["counts"]
    return -counts[NodeState.ALERT_ENTROPY], -counts[NodeState.BLOCKED], group["place"]


def related(model: SessionsSeen, session_id: str, most: int = 200) -> Iterable[str]:
    """Yield the sessions that an edge joins with this one: those of the same trace."""
    case = model.cases.get(session_id)
    trace = case.session.trace_id if case is not None else None
    if not trace:
        return
    same = (
        other
        for other, known in model.cases.items()
        if other != session_id and known.session.trace_id == trace
    )
    for _, other in zip(range(most), same, strict=False):
        yield other


_SEAT: Final = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")


def seat_of(text: str) -> Seat | None:
    """Read a seat as addresses have it, None for what is none.

    >>> seat_of("3:17"), seat_of("3"), seat_of("")
    (Seat(place=3, slot=17), None, None)
    """
    found = _SEAT.fullmatch(text)
    return None if found is None else Seat(int(found[1]), int(found[2]))


def cell(model: SessionsSeen, seating: Seating, session_id: str, now: int) -> dict[str, Any] | None:
    """Return the content of the card of a session, None if the session is not on the map."""
    case, seat = model.cases.get(session_id), seating.seat(session_id)
    if case is None or seat is None:
        return None
    known, about = session_row(model, case, now), model.attention(now).get(session_id)
    shown = row(about, model.control(session_id, now), now) if about is not None else {}
    state = states_at(model, now)[session_id]
    joined = [other for each in related(model, session_id) if (other := seating.seat(each)) is not None]
    return {
        "session_id": session_id,
        "at": f"{seat.place}:{seat.slot}",
        "agent_id": known["agent_id"],
        "task_type": known["task_type"],
        "goal": known["goal"],
        "state": state,
        "word": WORDS.get(state, state),
        "what": shown.get("what"),
        "class": shown.get("class"),
        "tools": shown.get("tools", []),
        "since": (shown.get("first") or {}).get("at"),
        "burnt": shown.get("tokens"),
        "rate_per_min": shown.get("rate_per_min"),
        "tokens": known["tokens"],
        "records": known["records"],
        "last_ts": known["last_ts"],
        "control": {**known["control"], "after_pause": shown.get("control", {}).get("after_pause", 0)},
        "joined": [f"{other.place}:{other.slot}" for other in joined],
    }


#: Agents and tools that the matrix has at most.
MOST_AGENTS, MOST_TOOLS = 50, 20

_HEATS: Final = 4


def matrix(found: Iterable[Attention], now: int) -> dict[str, Any]:
    """Return the agents and tools with most tokens an hour in open loops, worst first, and their cells.

    A session counts with each tool of its loop.
    """
    sessions: Counter[tuple[str, str]] = Counter()
    hourly: defaultdict[tuple[str, str], float] = defaultdict(float)
    agents: Counter[str] = Counter()
    columns: Counter[str] = Counter()
    for about in found:
        episode = about.episode
        if episode is None or about.ending is not None or episode.level != Level.LOOP:
            continue
        agent, spent = about.case.session.agent_id or "", 60 * rate(about, now)
        agents[agent] += round(spent)
        for tool in {str(tool or "") for tool in tools(about)}:
            sessions[agent, tool] += 1
            hourly[agent, tool] += spent
            columns[tool] += round(spent)
    rows, shown = _first(agents, MOST_AGENTS), _first(columns, MOST_TOOLS)
    most = max(hourly.values(), default=0.0)
    return {
        "tools": shown,
        "rows": [
            {
                "agent": agent,
                "hourly": agents[agent],
                "cells": [
                    {
                        "tool": tool,
                        "sessions": sessions[agent, tool],
                        "hourly": round(hourly[agent, tool]) if (agent, tool) in hourly else 0,
                        "heat": heat(hourly.get((agent, tool), 0.0), most) if sessions[agent, tool] else 0,
                    }
                    for tool in shown
                ],
            }
            for agent in rows
        ],
        "left_out": max(0, len(agents) - MOST_AGENTS) + max(0, len(columns) - MOST_TOOLS),
    }


def heat(value: float, most: float) -> int:
    """Return how dark a cell is, 1 to 4.

    >>> [heat(value, 100.0) for value in (0.0, 26.0, 100.0)], heat(0.0, 0.0)
    ([1, 2, 4], 1)
    """
    return 1 if most <= 0 else min(_HEATS, 1 + int(_HEATS * value / most))


def _first(counts: Counter[str], most: int) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))[:most]
