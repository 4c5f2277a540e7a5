"""The history of OpenHands before 1.0: a list of actions and of the observations that they caused.

A list stands alone in a file, or as ``history`` beside the ``instance_id`` of a benchmark, one a line. An
observation names the action that caused it. Its exit code stands in ``extras``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import EPOCH_MS, ContextChange, Conversation, UserTurn
from streams.formats.adapters.document import DocumentAdapter, DocumentValue, session_of
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import block_text, milliseconds, number, text_or_none

NAME: Final = "openhands-history"
_AGENT: Final = "openhands"
_NO_CALL: Final = frozenset(
    {"", "message", "system", "recall", "change_agent_state", "null", "condensation", "condensation_request"}
)
_ENDS: Final = frozenset({"finish", "reject"})
_REMARKS: Final = ("thought", "hidden", "confirmation_state", "security_risk", "blocking", "is_static")
_REFUSED: Final = "user_rejected"


class OpenHandsHistory(DocumentAdapter):
    """Reads histories, each a session."""

    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield what the histories of one document say."""
        for part in parts:
            value = part.value
            events = value.get("history") if isinstance(value, dict) else value
            if not isinstance(events, list):
                yield self.unknown(self.name, "no history: no list of events")
                continue
            named = text_or_none(value.get("instance_id")) if isinstance(value, dict) else None
            unnamed = session_of(self.name) + ("" if part.number is None else f"/{part.number}")
            yield from self._events(Conversation(named or unnamed, _AGENT, _AGENT), events)

    def _events(self, conversation: Conversation, events: list[Any]) -> Found:
        at = EPOCH_MS
        for index, given in enumerate(events):
            pair = (
                given if isinstance(given, list) else [given]
            )  # some versions pair actions and observations
            for event in pair:
                if not isinstance(event, dict):
                    yield self.unknown(conversation.session_id, f"event {index} is no object")
                    continue
                found = milliseconds(event.get("timestamp"))
                at = at + 1000 if found is None else found
                if "observation" in event:
                    yield from self._observation(conversation, event, at)
                else:
                    yield from self._action(conversation, event, index, at)
        yield from conversation.conclude()
        yield from conversation.unanswered()

    def _action(self, conversation: Conversation, event: dict[str, Any], index: int, at: int) -> Found:
        kind, arguments = event.get("action"), event.get("args")
        arguments = arguments if isinstance(arguments, dict) else {}
        event_id = f"{conversation.session_id}/{event.get('id', index)}"
        if kind == "message" and event.get("source") == "user":
            yield from conversation.conclude()
            conversation.ask(text_or_none(arguments.get("content")) or text_or_none(event.get("message")))
            return
        if not isinstance(kind, str):
            yield self.unknown(conversation.session_id, f"event {index} without action or observation")
            return
        self._spend(conversation, event)
        conversation.say(text_or_none(arguments.get("thought")))
        if kind == "message" or kind in _ENDS:
            said = arguments.get("content") if kind == "message" else arguments.get("final_thought")
            conversation.say(text_or_none(said) or text_or_none(event.get("message")))
            yield from conversation.finish(event_id, at)
        elif kind in _NO_CALL:
            if kind == "condensation":
                conversation.change_context(ContextChange.COMPACTED)
            self.ignored[f"action {kind}"[:60]] += 1
        else:
            asked = event.get("tool_call_metadata")
            asked = asked if isinstance(asked, dict) else {}
            response = asked.get("model_response")
            round_id = text_or_none(response.get("id")) if isinstance(response, dict) else None
            given = {key: each for key, each in arguments.items() if key not in _REMARKS}
            name = text_or_none(asked.get("function_name")) or kind
            yield from conversation.call(event_id, name, given, at=at, round_id=round_id)

    def _observation(self, conversation: Conversation, event: dict[str, Any], at: int) -> Found:
        kind, cause = event.get("observation"), event.get("cause")
        call_id = f"{conversation.session_id}/{cause}"
        if call_id not in conversation.calls:
            self.ignored[f"observation {kind}"[:60]] += 1
            return
        extras = event.get("extras")
        extras = extras if isinstance(extras, dict) else {}
        about = extras.get("metadata")
        code = extras.get("exit_code", about.get("exit_code") if isinstance(about, dict) else None)
        failed = kind == "error" or event.get("success") is False or (isinstance(code, int) and code > 0)
        status, turn = "failure" if failed else "success", None
        if kind == _REFUSED:
            status, turn = "skipped", UserTurn.REFUSAL
        yield from conversation.answer(call_id, block_text(event.get("content")), at, status, user_turn=turn)

    def _spend(self, conversation: Conversation, event: dict[str, Any]) -> None:
        metrics = event.get("llm_metrics")
        cost = number(metrics.get("accumulated_cost")) if isinstance(metrics, dict) else None
        if cost is not None and cost >= 0:
            conversation.cost = cost


def sniff(head: bytes, _name: str) -> int:
    """Recognise a history by an action or an observation with its source and its number."""
    for value in head_values(head):
        events = value.get("history") if isinstance(value, dict) else value
        for given in events[:20] if isinstance(events, list) else ():
            event = given[0] if isinstance(given, list) and given else given
            if isinstance(event, dict) and "source" in event and {"action", "observation"} & event.keys():
                return CERTAIN if "args" in event or "cause" in event or "extras" in event else NO
    return NO


FORMAT: Final = Format(NAME, UnitKind.DOCUMENT, sniff, OpenHandsHistory, OpenHandsHistory.resume)
