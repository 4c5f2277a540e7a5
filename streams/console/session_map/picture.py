"""What the map shows at a moment: the state of each session, at its seat, and how many there are of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from streams.console.inbox.session_list import NODES, node_at
from streams.console.read_model.case import Case
from streams.console.read_model.model import ReadModel
from streams.console.session_map.seating import Area, Seating
from streams.core.domain.level import Level, NodeState
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError

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

    def settled(self, model: ReadModel, by: By) -> Seating:
        """Return the seats of a grouping, with everybody who is known now."""
        seating, group = self.seatings[by], _GROUPS[by]
        seating.settle({session_id: group(case) or "" for session_id, case in model.cases.items()})
        return seating


def picture(model: ReadModel, seating: Seating, now: int) -> dict[str, Any]:
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


def states_at(model: ReadModel, now: int) -> dict[str, str]:
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


def related(model: ReadModel, session_id: str, most: int = 200) -> Iterable[str]:
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
