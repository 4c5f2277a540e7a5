"""What became of an input record, for machines."""

from __future__ import annotations

from typing import Any

from streams.core.domain.event_kind import EventKind
from streams.core.domain.outcome import Duplicate, Rejected, Scored
from streams.core.offline import Judgement


def record_fields(judgement: Judgement) -> dict[str, Any]:
    """The document that says what became of a record; its keys are an interface others read.

    ``entropy_score`` is the one of the outbound record, ``node_state`` the one after the record, ``eddy`` the
    block of specification 1.7 with its events; all null where nothing goes out. ``recommendation`` is what
    the next task of the completed type should be granted, null for a record that completes none.
    ``handovers`` are the alerts that its session and another one hand each other the same task.
    """
    _, session_id, event_id, outcome, recommendation = judgement
    status = "ok"
    problems: tuple[str, ...] = ()
    entropy_score, node_state, eddy = None, None, None
    handovers: list[dict[str, Any]] = []
    match outcome:
        case Scored(enriched=enriched):
            cognition = enriched.get("cognition")
            entropy_score = None if cognition is None else cognition.get("entropy_score")
            node_state, eddy = outcome.node_state, enriched["eddy"]
            found = (event.fields for event in outcome.events)
            handovers = [fields for fields in found if fields["event_type"] == EventKind.HANDOVER_LOOP]
        case Duplicate():
            status = "duplicate"
        case Rejected():
            status, problems = "rejected", outcome.problems
    return {
        "status": status,
        "session_id": session_id,
        "event_id": event_id,
        "entropy_score": entropy_score,
        "node_state": node_state,
        "problems": problems,
        "eddy": eddy,
        "recommendation": recommendation,
        "handovers": handovers,
    }
