"""What operators decided about episodes, folded from the audit of their actions.

An action names an episode, or `session/<id>` where a session needs an operator without one. Its request is
a JSON object: ``do`` is ack, unack, snooze, assign, note, loop or not_a_loop; ``tokens``, ``level`` and
``place`` are those of the episode when the operator saw it, so that it can return when they get worse.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from streams.console.read_model.place import NOWHERE, Fields, place
from streams.console.read_model.rows import ActionRow, EpisodeRow, TriageRow
from streams.core.domain.level import Level
from streams.core.domain.run import StoredRecord

OPEN: Final = "open"
ACKNOWLEDGED: Final = "acknowledged"
SNOOZED: Final = "snoozed"
NOT_A_LOOP: Final = "not a loop"

_STATES: Final = {"ack": ACKNOWLEDGED, "unack": OPEN, "snooze": SNOOZED, "not_a_loop": NOT_A_LOOP}
_MINUTE_MS: Final = 60_000
_DAY_MINUTES: Final = 1_440


def subject_of(session_id: str) -> str:
    """Return what an action is about if a session needs an operator without an episode.

    >>> subject_of("s-17")
    'session/s-17'
    """
    return f"session/{session_id}"


class EpisodeSeen(NamedTuple):
    """How an episode was when an operator decided about it."""

    tokens: float = 0
    level: str | None = None
    place: int = NOWHERE

    @classmethod
    def of(cls, episode: EpisodeRow | None) -> EpisodeSeen:
        """Return how an episode is now."""
        if episode is None:
            return cls()
        return cls(episode.tokens, episode.level, place(episode.partition, episode.seen_offset))


def request_of(do: str, seen: EpisodeSeen, **more: str | float | None) -> str:
    """Return the request of a triage action, as the audit keeps it.

    Args:
        do: ack, unack, snooze, assign, note, loop or not_a_loop.
        seen: the episode as the operator saw it.
        more: ``until`` (ms), ``until_tokens``, ``assignee`` or ``note``.

    >>> request_of("ack", EpisodeSeen(1200, "LOOP", 17))
    '{"do":"ack","tokens":1200,"level":"LOOP","place":17}'
    """
    given = {name: value for name, value in more.items() if value is not None}
    return orjson.dumps({"do": do, **seen._asdict(), **given}).decode()


def action_of(fields: Fields, source: StoredRecord) -> ActionRow:
    """Return a record of console-actions as a row."""
    return ActionRow(
        id=fields["id"],
        at=fields["at"],
        who=fields["who"],
        role=fields.get("role") or "",
        kind=fields["kind"],
        target=fields.get("target") or "",
        why=fields.get("why") or "",
        result=fields.get("result") or "",
        body=orjson.dumps(dict(fields)).decode(),
        partition=source.partition,
        offset=source.offset,
    )


def merged_actions(one: ActionRow, other: ActionRow) -> ActionRow:
    """Return the record with the result: it replaces the one before the action."""
    return max(one, other, key=lambda row: (row.result != "", row.partition, row.offset))


def triage_of(fields: Fields, source: StoredRecord) -> TriageRow | None:
    """Return what an action says about an episode, None if it says nothing about one."""
    if fields["kind"] != "triage" or fields.get("result") != "accepted" or not fields.get("target"):
        return None
    request = request_asked(fields.get("request"))
    at = place(source.partition, source.offset)
    row = TriageRow(
        episode_id=fields["target"],
        state=OPEN,
        by=None,
        at=None,
        until=None,
        until_tokens=None,
        assignee=None,
        note=None,
        offset=source.offset,
        tokens=None,
        level=None,
        seen_place=NOWHERE,
        state_place=NOWHERE,
        assignee_place=NOWHERE,
        note_place=NOWHERE,
    )
    match request.get("do"):
        case "ack" | "unack" | "snooze" | "not_a_loop" as do:
            return row._replace(
                state=_STATES[do],
                by=fields["who"],
                at=fields["at"],
                until=request.get("until"),
                until_tokens=request.get("until_tokens"),
                tokens=request.get("tokens"),
                level=request.get("level"),
                seen_place=request.get("place", NOWHERE),
                state_place=at,
            )
        case "assign":
            return row._replace(assignee=request.get("assignee") or None, assignee_place=at)
        case "note":
            return row._replace(note=request.get("note") or None, note_place=at)
        case _:
            return None


def request_asked(text: str | None) -> dict[str, Any]:
    """Return what an action asked for, nothing of what is no JSON object: others may write the audit too."""
    try:
        request = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return request if isinstance(request, dict) else {}


def merged_triage(one: TriageRow, other: TriageRow) -> TriageRow:
    """Return what two rows about one episode say together."""
    state = max(one, other, key=lambda row: row.state_place)
    assigned = max(one, other, key=lambda row: row.assignee_place)
    noted = max(one, other, key=lambda row: row.note_place)
    return state._replace(
        offset=max(one.offset, other.offset),
        assignee=assigned.assignee,
        assignee_place=assigned.assignee_place,
        note=noted.note,
        note_place=noted.note_place,
    )


class DecisionStanding(NamedTuple):
    """Whether a decision holds at a moment; ``returned`` says why it does not any more."""

    state: str = OPEN
    returned: str | None = None


def standing(
    triage: TriageRow | None,
    seen: EpisodeSeen,
    reopened_place: int,
    now: int,
    continues_since: int | None,
    went_on_at: int | None = None,
) -> DecisionStanding:
    """Tell whether a decision about an episode holds.

    Args:
        triage: the decision, None if there is none.
        seen: the episode as it is.
        reopened_place: where it was reopened last.
        now: the moment, in ms.
        continues_since: when the pause that the session does not obey took effect; None if it obeys.
        went_on_at: when the pause was over after which the session looped on; None if it did not.
    """
    if triage is None or triage.state == OPEN or triage.at is None:
        return DecisionStanding()
    said = f"{triage.state} by {triage.by or 'an operator'} at {_clock(triage.at)}"
    if continues_since is not None and continues_since > triage.at:
        return DecisionStanding(OPEN, f"{said}, goes on after pause")
    if triage.state == NOT_A_LOOP:
        # Whatever the episode does: somebody has looked, and knows better.
        return DecisionStanding(NOT_A_LOOP)
    if went_on_at is not None and went_on_at > triage.at:
        return DecisionStanding(OPEN, f"{said}, resumed at {_clock(went_on_at)} and loops on")
    if triage.state == SNOOZED:
        over = _snooze_over(triage, seen, reopened_place, now)
        return DecisionStanding(SNOOZED) if over is None else DecisionStanding(OPEN, f"{said}{over}")
    if triage.level == Level.WARNING and seen.level == Level.LOOP:
        return DecisionStanding(OPEN, f"{said}, escalated")
    if reopened_place > triage.seen_place:
        return DecisionStanding(OPEN, f"{said}, reopened")
    if triage.tokens and seen.tokens >= 2 * triage.tokens:
        return DecisionStanding(OPEN, f"{said}, waste doubled")
    return DecisionStanding(ACKNOWLEDGED)


def _snooze_over(triage: TriageRow, seen: EpisodeSeen, reopened_place: int, now: int) -> str | None:
    """Return why a snooze is over, None if it is not."""
    if triage.until is not None and now >= triage.until:
        return f", until {_clock(triage.until)}"
    if triage.until_tokens is not None and seen.tokens >= triage.until_tokens:
        return f", until {triage.until_tokens:,.0f} tokens"
    if triage.until is None and triage.until_tokens is None and reopened_place > triage.seen_place:
        return " until recovered, reopened"
    return None


def _clock(at: int) -> str:
    """Return the hour and minute, UTC."""
    hours, minutes = divmod(at // _MINUTE_MS % _DAY_MINUTES, 60)
    return f"{hours:02}:{minutes:02}"
