"""A board over files: their records judged here, without Kafka. Nothing can be done to such sessions."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from streams.console.auth.identity import is_of
from streams.console.board import Facts, FollowerReadings, Steps
from streams.console.inbox.session_list import SEARCHES_GOALS, said_of
from streams.console.session_facts import LoopCourse, session_facts
from streams.console.view import RecordStep
from streams.console.workers import SessionStanding
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.level import Level
from streams.core.domain.outcome import Scored
from streams.core.errors import ConfigurationError
from streams.core.offline import Judgement
from streams.operate.explain.session_records import not_found

_PAGE: Final = 100
_LONGEST_NUMBER: Final = 12
_GRAVITY: Final = {Level.LOOP.value: 0, Level.WARNING.value: 1}


@dataclass(slots=True)
class _Session:
    """A session: its newest step, and its records packed, since they are 3 kB each and files are long."""

    newest: RecordStep
    first_ts: int | None
    course: LoopCourse = field(default_factory=LoopCourse)
    goal: str | None = None
    cost: float | None = None
    worst: str | None = None
    packed: list[tuple[int, bytes]] = field(default_factory=list)

    def steps(self, before: int | None, limit: int) -> tuple[RecordStep, ...]:
        end = len(self.packed) if before is None else min(before - 1, len(self.packed))
        begin = max(0, end - limit)
        return tuple(
            RecordStep(0, offset, None, orjson.loads(zlib.decompress(packed)), number)
            for number, (offset, packed) in enumerate(self.packed[begin:end], begin + 1)
        )


class FileBoard:
    """The sessions of some files.

    Args:
        names: The files, for people.
        recommended: What comes after `eddy explain SESSION` in a command that explains a session.
        settings: What the files are judged under.
    """

    live = False

    def __init__(self, names: str, recommended: str, settings: DetectionSettings) -> None:
        #: The settings of detection that the files are judged under.
        self.settings = settings
        self._names = names
        self._recommended = recommended
        self._sessions: dict[str, _Session] = {}
        self._rejected = 0

    def within(self, agents: tuple[str, ...]) -> FileBoard:
        """Return what people see who are limited to some agents."""
        board = FileBoard(self._names, self._recommended, self.settings)
        board._sessions = {
            session_id: session
            for session_id, session in self._sessions.items()
            if is_of(agents, session.newest.record["identity"]["agent_id"])
        }
        return board

    def add(self, judgement: Judgement) -> None:
        """Take in what became of a record."""
        outcome = judgement.outcome
        if not isinstance(outcome, Scored):
            self._rejected += 1
            return
        step = RecordStep(0, judgement.offset, None, outcome.enriched, 1)
        session = self._sessions.get(outcome.decision.session_id)
        if session is None:
            session = _Session(step, _at(step))
            self._sessions[outcome.decision.session_id] = session
        level = (outcome.enriched["eddy"].get("verdict") or {}).get("level")
        if _GRAVITY.get(level or "", 2) < _GRAVITY.get(session.worst or "", 2):
            session.worst = level
        session.course.add(step.record)
        session.goal = (step.record.get("cognition") or {}).get("goal") or session.goal
        cost = (step.record.get("state_delta") or {}).get("cumulative_session_cost")
        session.cost = session.cost if cost is None else cost
        session.newest = step._replace(number=len(session.packed) + 1)
        session.packed.append((judgement.offset, zlib.compress(orjson.dumps(outcome.enriched), 1)))

    @property
    def first_page(self) -> str:
        """The page to begin with."""
        return "/sessions"

    @property
    def ids(self) -> list[str]:
        """The ids of the sessions, those that went in circles first."""
        return [session_id for session_id, _ in self._ordered()]

    def facts(self, now: int) -> Facts:
        """Return what the frame of each page says."""
        del now
        records = sum(len(each.packed) for each in self._sessions.values())
        refused = f", {self._rejected:,} records were refused" if self._rejected else ""
        return Facts(f"{self._names}: {len(self._sessions):,} sessions, {records:,} records{refused}")

    def alerts(self, query: Mapping[str, str], now: int) -> Mapping[str, Any]:
        """Refuse: the alerts of files are in the past."""
        del query, now
        raise ConfigurationError("Files have no inbox: the list of sessions shows which went in circles.")

    def many(self, cause: str, chosen: Sequence[str], now: int) -> None:
        """Return nothing: the sessions of files are over."""

    def sessions(self, query: Mapping[str, str], now: int) -> Mapping[str, Any]:
        """Return the sessions, those that went in circles first."""
        del now
        words, in_goals = query.get("q", "").split(), bool(query.get(SEARCHES_GOALS))
        found = [
            self._row(session_id, session)
            for session_id, session in self._ordered()
            if all(_matches(word, session_id, session, in_goals=in_goals) for word in words)
        ]
        cursor = query.get("cursor", "")
        start = int(cursor) if cursor.isdecimal() and len(cursor) <= _LONGEST_NUMBER else 0
        loops = sum(each.worst == Level.LOOP for each in self._sessions.values())
        more = start + _PAGE < len(found)
        return {
            "rows": found[start : start + _PAGE],
            "next": str(start + _PAGE) if more else None,
            "lead": f"{loops:,} of {len(self._sessions):,} went in circles.",
            "empty_text": "No session matches. Remove a word of the filter. It looks for ids, agents, "
            "traces, tasks and goals; its names are agent: and level:.",
        }

    def readings(self) -> FollowerReadings:
        """Return that all is read."""
        return FollowerReadings()

    def look_at(self, sessions: frozenset[str]) -> None:
        """Do nothing: everything is read already."""

    def version(self, session_id: str) -> object:
        """Return nothing: files do not change."""
        del session_id
        return None

    def session(self, session_id: str, now: int) -> Mapping[str, Any] | None:
        """Return what the head of its page says beside its newest step."""
        del now
        session = self._sessions.get(session_id)
        if session is None:
            return None
        return {
            "first_ts": session.first_ts,
            "records": len(session.packed),
            "goal": session.goal,
            "cost": session.cost,
            "course": session.course,
        }

    async def number_at(self, session_id: str, offset: int) -> int | None:
        """Return the number of the first step that is not before an offset."""
        session = self._sessions.get(session_id)
        return None if session is None else 1 + bisect_left(session.packed, offset, key=lambda each: each[0])

    async def steps(self, session_id: str, *, before: int | None, limit: int) -> Steps:
        """Return steps of a session."""
        session = self._sessions.get(session_id)
        if session is None:
            return Steps(())
        found = session.steps(before, limit)
        return Steps(found, earlier=bool(found) and found[0].number > 1)

    async def standing(self, session_id: str) -> SessionStanding:
        """Return nothing: no worker has the sessions of files."""
        del session_id
        return SessionStanding()

    def missing(self, session_id: str) -> str:
        """Say that there is no such session."""
        return str(not_found(session_id, set(self._sessions), self._names))

    def explained_by(self, session_id: str) -> str:
        """Return the command that explains a session."""
        return f"eddy explain {session_id} {self._recommended}"

    def _ordered(self) -> list[tuple[str, _Session]]:
        return sorted(self._sessions.items(), key=lambda item: _GRAVITY.get(item[1].worst or "", 2))

    def _row(self, session_id: str, session: _Session) -> dict[str, Any]:
        facts = session_facts(session_id, session.newest, session.course)
        known = {"first_ts": session.first_ts, "goal": session.goal, "cost": session.cost}
        return {**facts, **known, "level": session.worst, "node": None}


def _matches(word: str, session_id: str, session: _Session, *, in_goals: bool) -> bool:
    name, _, value = word.partition(":")
    record = session.newest.record
    agent = (record.get("identity") or {}).get("agent_id")
    match name:
        case "agent":
            return said_of(value.casefold(), agent)
        case "level":
            return (session.worst or "NORMAL").lower() == value.lower()
    names = session_id, agent, (record.get("meta") or {}).get("trace_id"), record.get("task_type")
    return said_of(word.casefold(), *names, session.goal if in_goals else None)


def _at(step: RecordStep) -> int | None:
    return (step.record.get("meta") or {}).get("timestamp")
