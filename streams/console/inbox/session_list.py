"""The list of the sessions in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from heapq import nsmallest
from typing import Any, Final

from streams.console.inbox.query import cursor_of, position_of
from streams.console.inbox.row import node
from streams.console.inbox.terms import duration_of
from streams.console.read_model.attention import Position, control_at
from streams.console.read_model.case import Case
from streams.console.read_model.rows import SessionRow
from streams.console.read_model.seen import SessionsSeen
from streams.core.domain.level import NodeState
from streams.core.errors import ConfigurationError

ROWS: Final = 100

#: The states of a session that lists and the map know.
NODES: Final = (*map(str, NodeState), "paused")


#: A parameter that the page adds for those who may read what agents wrote.
SEARCHES_GOALS: Final = "goals"

NO_SESSION_MATCHES: Final = (
    "No session matches. Remove a word of the filter. It looks for ids, agents, traces, tasks and goals; "
    "its names are agent:, trace:, level:, node: and since:."
)


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """A question to the list.

    Parts of an id, an agent, a trace, a task or a goal; an agent, a trace, a level of the verdict, a state,
    and how long back.
    """

    text: str = ""
    in_goals: bool = False
    agent: str = ""
    trace: str = ""
    level: str = ""
    node: str = ""
    since_ms: float | None = None
    after: Position | None = None

    @classmethod
    def parse(cls, params: Mapping[str, str]) -> SessionQuery:
        """Read the parameters of the page.

        Raises:
            ConfigurationError: names what is wrong.
        """
        wanted = params.get("node", "")
        if wanted and wanted not in NODES:
            raise ConfigurationError(f'Unknown node "{wanted}". Known are {", ".join(NODES)}.')
        return cls(
            text=params.get("q", "").casefold(),
            in_goals=bool(params.get(SEARCHES_GOALS)),
            agent=params.get("agent", ""),
            trace=params.get("trace", ""),
            level=params.get("level", "").upper(),
            node=wanted,
            since_ms=duration_of("since", params["since"]) if params.get("since") else None,
            after=position_of(params.get("cursor", "")),
        )


@dataclass(frozen=True, slots=True)
class SessionPage:
    """A page of the list, newest first."""

    rows: list[dict[str, Any]]
    matching: int
    live: int
    next: str | None
    as_of: int

    def content(self) -> dict[str, Any]:
        """Return the page as JSON has it."""
        return {
            "rows": self.rows,
            "matching": self.matching,
            "live": self.live,
            "next": self.next,
            "as_of": self.as_of,
        }


def sessions(model: SessionsSeen, query: SessionQuery, now: int) -> SessionPage:
    """Return the sessions in memory that a query asks for, newest first; the archive has older ones."""
    found = [case for case in model.cases.values() if _passes(model, case, query, now)]
    placed = [((0, -(case.session.last_ts or 0), case.session.session_id), case) for case in found]
    if query.after is not None:
        placed = [each for each in placed if each[0] > query.after]
    first = nsmallest(ROWS + 1, placed, key=lambda each: each[0])
    return SessionPage(
        rows=[session_row(model, case, now) for _, case in first[:ROWS]],
        matching=len(found),
        live=model.live(now),
        next=cursor_of(first[ROWS - 1][0]) if len(first) > ROWS else None,
        as_of=now,
    )


def said_of(text: str, *names: str | None) -> bool:
    """Tell whether one of some names has a text in it, whatever the case; the text is casefolded."""
    return any(text in name.casefold() for name in names if name)


def _passes(model: SessionsSeen, case: Case, query: SessionQuery, now: int) -> bool:
    session = case.session
    agent = session.agent_id or ""
    if query.agent not in {"", agent} and not fnmatchcase(agent, query.agent):
        return False
    if query.trace and session.trace_id != query.trace:
        return False
    if query.level and _level(case) != query.level:
        return False
    if query.since_ms is not None and (session.last_ts or 0) < now - query.since_ms:
        return False
    names = session.session_id, agent, session.trace_id, session.task_type
    goal = session.goal if query.in_goals else None
    if not all(said_of(word, *names, goal) for word in query.text.split()):
        return False
    return not query.node or node_at(model, case, now) == query.node


def node_at(model: SessionsSeen, case: Case, now: int) -> str:
    """Return the state of a session at a moment: paused if a guard holds it, idle if it is silent."""
    if case.commands or model.holds:
        state = node(case.session, control_at(case, model.holds, now))
        if state == "paused":
            return state
    if (case.session.last_ts or 0) < now - model.live_ms:
        return str(NodeState.IDLE)
    return case.session.shown_node


def _level(case: Case) -> str:
    episode = case.newest_episode(is_open=True)
    return episode.level if episode else "NORMAL"


def older_row(row: SessionRow) -> dict[str, Any]:
    """Return what the list says of a session that only the archive has."""
    return {
        "session_id": row.session_id,
        "agent_id": row.agent_id,
        "task_type": row.task_type,
        "goal": row.goal,
        "records": row.records,
        "first_ts": row.first_ts,
        "last_ts": row.last_ts,
        "ended": bool(row.ended),
    }


def session_row(model: SessionsSeen, case: Case, now: int) -> dict[str, Any]:
    """Return what the list says of a session."""
    session, control = case.session, control_at(case, model.holds, now)
    return {
        "session_id": session.session_id,
        "agent_id": session.agent_id,
        "agent_type": session.agent_type,
        "task_type": session.task_type,
        "goal": session.goal,
        "trace_id": session.trace_id,
        "cluster_id": session.cluster_id,
        "node": node_at(model, case, now),
        "level": _level(case),
        "drift": session.drift_level,
        "first_ts": session.first_ts,
        "last_ts": session.last_ts,
        "records": session.records,
        "tokens": session.tokens,
        "sampled": session.is_sampled,
        "cost": session.cost,
        "control": {"state": str(control.state), "label": control.label(now), "since": control.since},
        "ended": session.ended,
    }
