"""What `eddy watch` says: what begins to loop, what was asked of it, and what became of that. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from eddy_client.protocol import Action, Status

from streams.core.domain.event_kind import EventKind
from streams.core.domain.text.figures import count
from streams.core.domain.text.printable import printable
from streams.core.domain.topic import Topic
from streams.operate.explain.explanation import meaning, sentence

_LONGEST_NAME: Final = 80
_LONGEST_TEXT: Final = 300

_ASKED: Final[Mapping[str, str]] = MappingProxyType(
    {
        Action.PAUSE: "to pause",
        Action.RESUME: "to go on",
        Action.ABORT: "to end",
        Action.INJECT_MESSAGE: "to read a note",
    }
)
_BECAME: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        (Action.PAUSE, Status.APPLIED): "is paused",
        (Action.PAUSE, Status.RELEASED): "goes on",
        (Action.PAUSE, Status.EXPIRED): "was not paused: it called no tool in time",
        (Action.ABORT, Status.APPLIED): "was ended",
        (Action.ABORT, Status.EXPIRED): "was not ended: it called no tool in time",
        (Action.INJECT_MESSAGE, Status.APPLIED): "was given the note",
        (Action.INJECT_MESSAGE, Status.EXPIRED): "has not read the note: it called no tool in time",
    }
)


def alert_news(fields: Mapping[str, Any]) -> str | None:
    """Return what an alert of a session says that was not known before.

    >>> alert_news({"event_type": "loop_episode", "phase": "recovered", "session_id": "s-1", "records": 7})
    's-1 is out of its loop, after 7 records'
    """
    name = _name(fields["session_id"])
    if fields["event_type"] == EventKind.HANDOVER_LOOP:
        return f"{name} may go in circles with another: {printable(sentence(fields), _LONGEST_TEXT)}"
    if fields["event_type"] == EventKind.OVERSPENDING and meaning(fields).news:
        return f"{name} {sentence(fields)}"
    if fields["event_type"] != EventKind.LOOP_EPISODE:
        return None
    match fields["phase"]:
        case "opened" | "escalated":
            state = "goes in circles" if fields["level"] == "LOOP" else "may go in circles"
            return f"{name} {state}: {printable(sentence(fields), _LONGEST_TEXT)}"
        case "recovered":
            return f"{name} is out of its loop, after {count(fields['records'], 'record')}"
    return None


def control_news(topic: Topic, fields: Mapping[str, Any], actions: Mapping[str, str]) -> str | None:
    """Return what a record of the control loop says; None if nothing that a person waits for.

    Args:
        topic: Topic that the record stands on.
        fields: Value of the record, decoded.
        actions: By the id of a command, what it asks for.
    """
    match topic:
        case Topic.SESSION_COMMANDS:
            asked = _ASKED.get(fields["action"], printable(fields["action"], _LONGEST_NAME))
            who = printable(fields["issuer"]["name"], _LONGEST_NAME)
            return f"{_name(fields['session_id'] or 'all')} is asked {asked}, by {who}"
        case Topic.SESSION_COMMAND_ACKS:
            became = _BECAME.get((actions.get(fields["command_id"] or "", ""), fields["status"]))
            return None if became is None else f"{_name(fields['session_id'])} {became}"
    return None


def _name(session_id: str) -> str:
    return printable(session_id, _LONGEST_NAME)
