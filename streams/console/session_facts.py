"""The head of a session's page, from its steps: who, what for, how far, at what cost, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams.console.read_model.session import tokens_used
from streams.console.step import RecordStep
from streams.core.detectors.budget.detector import granted
from streams.core.offline import Judgement
from streams.operate.explain.enriched_record import scored_again
from streams.operate.explain.explanation import Explanation
from streams.operate.explain.verdict import verdict_sentence


def session_facts(session_id: str, steps: Sequence[RecordStep]) -> dict[str, Any]:
    """Return what the head of the page shows.

    Args:
        session_id: Id of the session.
        steps: Its steps, oldest first; the newest alone say most of it.
    """
    told = explanation(session_id, steps)
    if not steps:
        return {"session_id": session_id, "known": False, "verdict": verdict_sentence(told, None)}
    first, last = steps[0].record, steps[-1].record
    eddy = last["eddy"]
    budget, verdict, drift = (eddy.get(name) or {} for name in ("budget", "verdict", "drift"))
    identity, meta = last.get("identity") or {}, last.get("meta") or {}
    return {
        "session_id": session_id,
        "known": True,
        "agent_id": identity.get("agent_id"),
        "agent_type": identity.get("agent_type"),
        "version": identity.get("capability_version"),
        "task_type": last.get("task_type"),
        "goal": _newest(steps, "cognition", "goal"),
        "trace_id": meta.get("trace_id"),
        "cluster": meta.get("cluster_id"),
        "first_ts": (first.get("meta") or {}).get("timestamp"),
        "last_ts": meta.get("timestamp"),
        "records": steps[-1].number,
        "cost": _newest(steps, "state_delta", "cumulative_session_cost"),
        "tokens": tokens_used(budget),
        "budget": granted(budget),
        "level": verdict.get("level"),
        "rule": verdict.get("rule"),
        "uniqueness": (eddy.get("uniqueness") or {}).get("score"),
        "drift": drift.get("level"),
        "drift_overall": drift.get("overall"),
        "ended": bool((last.get("control") or {}).get("is_terminal")),
        "settings_version": eddy.get("settings_version"),
        "loops": told.loops,
        "verdict": verdict_sentence(told, None),
    }


def explanation(session_id: str, steps: Sequence[RecordStep]) -> Explanation:
    """Return what `eddy explain` would gather from the steps."""
    told = Explanation(session_id)
    for step in steps:
        scored = scored_again(dict(step.record))
        told.add(Judgement(step.offset, session_id, scored.decision.event_id, scored))
    return told


def _newest(steps: Sequence[RecordStep], block: str, name: str) -> Any:
    for step in reversed(steps):
        value = (step.record.get(block) or {}).get(name)
        if value is not None:
            return value
    return None
