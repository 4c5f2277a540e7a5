"""The head of a session's page, from its steps: who, what for, how far, at what cost, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streams.console.read_model.session import tokens_used
from streams.console.view import RecordStep
from streams.core.detectors.budget.detector import granted
from streams.core.detectors.verdict.episode import Phase
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.offline import Judgement
from streams.operate.explain.explanation import Explanation, sentence
from streams.operate.explain.session_records import scored_again
from streams.operate.explain.verdict import verdict_sentence


@dataclass(slots=True)
class LoopCourse:
    """What the head of a page says of the episodes of a session, whichever of its steps are at hand.

    Attributes:
        loops: episodes that reached LOOP.
        first: the first event of the newest episode; None if there was none.
        latest: its newest event, with the figures of the newest record.
    """

    loops: int = 0
    first: Mapping[str, Any] | None = None
    latest: Mapping[str, Any] | None = None
    _loop: str | None = None

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in the next record of the session."""
        for fields in record["eddy"]["events"]:
            if fields["event_type"] != EventKind.LOOP_EPISODE:
                continue
            if self.first is None or self.first["episode_id"] != fields["episode_id"]:
                self.first = fields
            self.latest = fields
            if fields["level"] == Level.LOOP and fields["episode_id"] != self._loop:
                self._loop = fields["episode_id"]
                self.loops += 1
        verdict, latest = record["eddy"].get("verdict") or {}, self.latest
        if latest is not None and verdict.get("episode") and latest["episode_id"] == verdict["episode_id"]:
            self.latest = {**latest, **verdict["episode"]}


def session_facts(session_id: str, newest: RecordStep | None, course: LoopCourse) -> dict[str, Any]:
    """Return what the head of the page shows.

    Args:
        session_id: Id of the session.
        newest: its newest step; None if that cannot be read now.
        course: Its episodes until then.
    """
    explained = explanation(session_id, () if newest is None else (newest,))
    explained.loops = course.loops
    if course.latest is not None:
        explained.latest = dict(course.latest)
        explained.course.append(explained.latest)
    last: Mapping[str, Any] = {} if newest is None else newest.record
    eddy = last.get("eddy") or {}
    budget, verdict, drift = (eddy.get(name) or {} for name in ("budget", "verdict", "drift"))
    identity, meta = last.get("identity") or {}, last.get("meta") or {}
    return {
        "session_id": session_id,
        "known": newest is not None,
        "sampled": False,
        "agent_id": identity.get("agent_id"),
        "agent_type": identity.get("agent_type"),
        "version": identity.get("capability_version"),
        "task_type": last.get("task_type"),
        "goal": (last.get("cognition") or {}).get("goal"),
        "trace_id": meta.get("trace_id"),
        "cluster": meta.get("cluster_id"),
        "last_ts": meta.get("timestamp"),
        "records": None if newest is None else newest.number,
        "cost": (last.get("state_delta") or {}).get("cumulative_session_cost"),
        "tokens": tokens_used(budget),
        "budget": granted(budget) if budget else None,
        "level": verdict.get("level"),
        "rule": verdict.get("rule"),
        "uniqueness": (eddy.get("uniqueness") or {}).get("score"),
        "drift": drift.get("level"),
        "drift_overall": drift.get("overall"),
        "ended": bool((last.get("control") or {}).get("is_terminal")),
        "settings_version": eddy.get("settings_version"),
        "loops": explained.loops,
        "verdict": _without_steps(explained) if newest is None else verdict_sentence(explained, None),
    }


def explanation(session_id: str, steps: Sequence[RecordStep]) -> Explanation:
    """Return what `eddy explain` would gather from the steps."""
    explained = Explanation(session_id)
    for step in steps:
        scored = scored_again(dict(step.record))
        explained.add(Judgement(step.offset, session_id, scored.decision.event_id, scored))
    return explained


def _without_steps(explained: Explanation) -> str:
    """Return what is known of a loop while no step can be read."""
    if (
        explained.latest is None
        or explained.latest["level"] != Level.LOOP
        or explained.latest["phase"] == Phase.RECOVERED
    ):
        return "No step can be read now, and no loop of the session is known to be open."
    return f"The session is considered looping: {sentence({**explained.latest, 'phase': Phase.ESCALATED})}."
