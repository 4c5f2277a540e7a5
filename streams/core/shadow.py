"""One record under the shadow settings: what they would have made of it, and what differs. Pure.

The shadow judges with a state of its own, kept with the session. It begins as a copy of the live state as it
was before the record: windows and counters are filled then, so that the first differences are those of the
settings, not those of a session that looks as if it had just begun.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.decision import Decision
from streams.core.domain.outcome import Rejected, Scored
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.pipeline import admit, step
from streams.core.policy.comparison import (
    Difference,
    DifferenceKind,
    FieldDifference,
    Outcome,
    PublishedEvent,
    difference,
)
from streams.core.settings_document import Shadow

_ACCEPTED = Difference((FieldDifference(DifferenceKind.OUTCOME, "rejected", "scored"),), (), ())


class Tried(NamedTuple):
    """A record that was tried out: its session with the shadow's state, and what differs, if anything."""

    session: Session
    differs: Difference | None


def try_out(
    before: Session | None,
    after: Session,
    record: Record,
    live: Scored,
    settings: DetectionSettings,
    shadow: Shadow,
) -> Tried:
    """Judge a record that the live settings accepted under the shadow settings too.

    A record that the shadow settings refuse leaves the shadow's state as it was. The shadow's position is
    always that of the live session.

    Args:
        before: the session before the record, with what the shadow kept of it.
        after: the session after the record.
        record: the record that the live settings accepted.
        live: what the live settings made of it.
        settings: the live settings, in force for the record.
        shadow: what is tried out.
    """
    kept = _kept(before, shadow)
    judged: Outcome
    if shadow.settings.max_future_ms != settings.max_future_ms and isinstance(
        refused := admit(record, shadow.settings), Rejected
    ):
        judged = refused
    else:
        kept, judged = step(kept, live.decision, shadow.settings)
    # A stub begins afresh with the next record; nothing at all would mean a copy of the live state.
    kept = Session(0, 0) if kept is None else kept
    kept = kept._replace(partition=after.partition, offset=after.offset, shadow=None)
    return Tried(after._replace(shadow=kept), difference(live, judged))


def try_refused(
    record: Record, settings: DetectionSettings, shadow: Shadow
) -> tuple[Decision, Difference] | None:
    """Return the decision of a record that the live settings refuse and the shadow settings accept.

    The record reaches no session, so the shadow judges it no further: that it is accepted is what differs.
    """
    if shadow.settings.max_future_ms == settings.max_future_ms:
        return None
    accepted = admit(record, shadow.settings)
    if isinstance(accepted, Rejected):
        return None
    return accepted, _ACCEPTED


def difference_record(
    decision: Decision, differs: Difference, settings: DetectionSettings, shadow: Shadow
) -> dict[str, Any]:
    """Return the record that reports the difference on `shadow-differences`: A is live, B the shadow."""
    place = f"{decision.session_id}/{decision.partition}/{decision.offset}"
    return {
        "id": f"{place}/shadow",
        "session_id": decision.session_id,
        "agent_id": decision.agent_id,
        "event_id": decision.event_id,
        "timestamp": decision.timestamp,
        "partition": decision.partition,
        "offset": decision.offset,
        "settings_version": settings.version,
        "shadow_version": shadow.settings.version,
        "differences": [
            {"field": str(kind), "live": live, "shadow": tried} for kind, live, tried in differs.fields
        ],
        "only_live": _events(differs.only_a),
        "only_shadow": _events(differs.only_b),
    }


def _kept(before: Session | None, shadow: Shadow) -> Session | None:
    """The shadow's state of a session before a record; a copy of the live state where it has none of its own.

    What was kept while something else was tried out, before ``since``, is none of its own.
    """
    if before is None or before.shadow is None or before.offset < shadow.since:
        return before
    return before.shadow


def _events(events: tuple[PublishedEvent, ...]) -> list[dict[str, str]]:
    return [{"event_type": each.event_type, "id": each.id} for each in events]
