"""Conversations of the OpenHands SDK, ``<conversation>/events/event-00003-<id>.json``: one event a file.

The session is the folder, which a collection of events in one file names as ``_session``. Times are local and
name no zone: they are read as UTC, so gaps between them are right and the hour may not be. A command that
failed is no error to OpenHands: its exit code says so.
"""

from __future__ import annotations

from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import Conversation, UserTurn
from streams.formats.adapters.document import session_of
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.record import (
    AgentStep,
    block_text,
    json_value,
    text_or_none,
    words_text,
)

NAME: Final = "openhands"
_STILL_RUNS: Final = -1
# What the model says of its call beside the arguments of the tool: other words at each repetition.
_REMARKS: Final = ("security_risk", "summary")


class OpenHands(LogAdapter):
    """Reads the events of one conversation, or of several in one file."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one event completes."""
        kind, event_id = value.get("kind"), text_or_none(value.get("id"))
        if not isinstance(kind, str) or event_id is None:
            yield self.unknown(self.name, "an event without kind or id")
            return
        session_id = text_or_none(value.get("_session")) or _folder(self.name)
        conversation = self.conversation(session_id, NAME)
        at = self.time_of(value.get("timestamp"))
        call_id = text_or_none(value.get("tool_call_id"))
        match kind:
            case "MessageEvent":
                yield from _message(conversation, value, event_id, at)
            case "ActionEvent":
                name = text_or_none(value.get("tool_name"))
                if call_id is None or name is None:
                    yield self.unknown(session_id, "ActionEvent without tool_name or tool_call_id")
                    return
                conversation.say(words_text(value.get("thought")))
                round_id = text_or_none(value.get("llm_response_id"))
                yield from conversation.call(call_id, name, _arguments(value), at=at, round_id=round_id)
            case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation":
                if call_id is None:
                    yield self.unknown(session_id, f"{kind} without tool_call_id")
                    return
                output, status = _result(kind, value)
                turn = UserTurn.REFUSAL if kind == "UserRejectObservation" else None
                yield from conversation.answer(call_id, output, at, status, user_turn=turn)
            case "ConversationStateUpdateEvent" if value.get("key") == "execution_status":
                if value.get("value") == "stuck":
                    stuck = AgentStep(event_id, at, status="failure", kind="system", signal="STUCK")
                    yield conversation.entry(stuck)
            case _:
                self.ignored[f"event {kind}"[:60]] += 1


def sniff(head: bytes, _name: str) -> int:
    """Recognise an event by its kind, its source and its id."""
    for value in head_values(head):
        if not isinstance(value, dict) or not {"source", "id", "timestamp"} <= value.keys():
            continue
        if str(value.get("kind")).endswith(("Event", "Observation")):
            return CERTAIN
    return NO


def _folder(name: str) -> str:
    """Return the conversation of an input: the folder above its events."""
    parts = name.replace("\\", "/").rstrip("/").split("/")
    if len(parts) > 1 and parts[-1].startswith("event-"):
        parts.pop()
    if len(parts) > 1 and parts[-1] == "events":
        parts.pop()
    return session_of("/".join(parts))


def _message(conversation: Conversation, event: dict[str, Any], event_id: str, at: int) -> Found:
    message = event.get("llm_message")
    content = words_text(message.get("content")) if isinstance(message, dict) else None
    if event.get("source") == "agent":
        conversation.say(content)
        yield from conversation.finish(event_id, at)
    elif event.get("source") == "user":
        conversation.ask(content)


def _arguments(event: dict[str, Any]) -> Any:
    call, action = event.get("tool_call"), event.get("action")
    given = call.get("arguments") if isinstance(call, dict) else None
    if given is None:
        return (
            {key: each for key, each in action.items() if key != "kind"} if isinstance(action, dict) else None
        )
    held = json_value(given)
    if not isinstance(held, dict):
        return given
    data = action.get("data") if isinstance(action, dict) else None
    own = (action if isinstance(action, dict) else {}) | (data if isinstance(data, dict) else {})
    remarks = [key for key in _REMARKS if key in held and key not in own]
    return {key: each for key, each in held.items() if key not in remarks} if remarks else given


def _result(kind: str, event: dict[str, Any]) -> tuple[str | None, str]:
    if kind == "AgentErrorEvent":
        return block_text(event.get("error")), "failure"
    if kind == "UserRejectObservation":
        return block_text(event.get("rejection_reason")), "skipped"
    given = event.get("observation")
    observation = given if isinstance(given, dict) else {}
    metadata = observation.get("metadata")
    code = observation.get("exit_code")
    if code is None and isinstance(metadata, dict):
        code = metadata.get("exit_code")
    failed = observation.get("is_error") is True or (isinstance(code, int) and code not in (0, _STILL_RUNS))
    return block_text(observation.get("content")), "failure" if failed else "success"


FORMAT: Final = Format(
    NAME,
    UnitKind.LINES,
    sniff,
    OpenHands,
    OpenHands.resume,
    parts="events/event-*.json",
)
