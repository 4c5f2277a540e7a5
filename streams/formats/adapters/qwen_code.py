"""The log of Qwen Code, ``~/.qwen/projects/<folder>/chats/<session>.jsonl``.

Its lines have the envelope of Claude Code (``sessionId``, ``uuid``, ``parentUuid``) and the parts of Gemini:
``text``, ``functionCall`` and ``functionResponse``. The exit code of a command stands in its text. A
sub-agent is a session of its own, ``<session>/<agent>``, and what a fork has copied is left out.
"""

from __future__ import annotations

from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import ContextChange, Conversation, UserTurn
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.record import block_text, text_or_none, whole
from streams.formats.adapters.shell_output import gemini_output

NAME: Final = "qwen-code"
_LINES: Final = frozenset({"user", "assistant", "tool_result"})
_BY_A_PERSON: Final = (None, "mid_turn_user_message")
_STATUS: Final = {"error": "failure", "cancelled": "skipped"}


class QwenCode(LogAdapter):
    """Reads one chat."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        kind, session_id = value.get("type"), text_or_none(value.get("sessionId"))
        if session_id is None:
            yield self.unknown(self.name, f"{str(kind)[:40]} without sessionId")
            return
        conversation = self._conversation(session_id, value)
        conversation.version = text_or_none(value.get("version")) or conversation.version
        if isinstance(origin := value.get("forkedFrom"), dict):
            conversation.parent_session_id = text_or_none(origin.get("sessionId"))
            self.ignored["line copied from the session that was forked"] += 1
            return
        if not isinstance(kind, str) or kind not in _LINES:
            match value:
                case {"subtype": "parent_session", "systemPayload": {"parentSessionId": str(above)}}:
                    conversation.parent_session_id = above
                case _:
                    pass
            if value.get("subtype") == "chat_compression":
                conversation.change_context(ContextChange.COMPACTED)
            self.ignored[f"type {kind}"[:60]] += 1
            return
        message = value.get("message")
        parts = message.get("parts") if isinstance(message, dict) else None
        if not isinstance(parts, list):
            yield self.unknown(session_id, f"{kind} message without parts")
            return
        at = self.time_of(value.get("timestamp"))
        uuid = text_or_none(value.get("uuid")) or f"{session_id}/{at}"
        if kind == "assistant":
            yield from self._assistant(conversation, value, parts, uuid, at)
        else:
            self.memory.pop("round", None)
            yield from self._user(conversation, value, parts, at)

    def _conversation(self, session_id: str, line: dict[str, Any]) -> Conversation:
        agent = text_or_none(line.get("agentId"))
        if line.get("isSidechain") is not True or agent is None:
            return self.conversation(session_id, NAME)
        conversation = self.conversation(f"{session_id}/{agent}", NAME)
        conversation.parent_session_id = session_id
        return conversation

    def _round(self, conversation: Conversation, line: dict[str, Any], uuid: str) -> str:
        """Return the round of a line: its message; a sub-agent writes a line for each of its calls."""
        if line.get("isSidechain") is not True:
            return uuid
        known = self.memory.get("round")
        if known is None or known[0] != conversation.session_id:
            known = self.memory["round"] = [conversation.session_id, uuid]
        return str(known[1])

    def _assistant(
        self, conversation: Conversation, line: dict[str, Any], parts: list[Any], uuid: str, at: int
    ) -> Found:
        usage = line.get("usageMetadata")
        if isinstance(usage, dict):
            total, cached = whole(usage.get("totalTokenCount")), whole(usage.get("cachedContentTokenCount"))
            billed = None if total is None else max(0, total - (cached or 0))
            conversation.spend(billed, uuid, cached or None)
        round_id, called = self._round(conversation, line, uuid), False
        for number, part in enumerate(parts):
            match part:
                case {"text": str(), "thought": True}:
                    self.ignored["part thought"] += 1
                case {"text": str(text)}:
                    conversation.say(text)
                case {"functionCall": {"name": str(name)} as call}:
                    called = True
                    call_id = text_or_none(call.get("id")) or f"{uuid}/{number}"
                    yield from conversation.call(
                        call_id, name, call.get("args"), parent=uuid, at=at, round_id=round_id
                    )
                case _:
                    yield self.unknown(conversation.session_id, "a part of no known shape")
        if not called:
            conversation.hold(uuid, at)

    def _user(self, conversation: Conversation, line: dict[str, Any], parts: list[Any], at: int) -> Found:
        for part in parts:
            match part:
                case {"functionResponse": {"response": response} as answer}:
                    yield from self._answer(conversation, line, answer, response, at)
                case {"text": str(text)}:
                    yield from conversation.conclude()
                    if line.get("subtype") in _BY_A_PERSON:
                        # In a sub-agent the agent above speaks, not a person.
                        conversation.ask(text, is_person=line.get("isSidechain") is not True)
                    else:
                        self.ignored["words of the program"] += 1
                case {"inlineData": _} | {"fileData": _}:
                    self.ignored["part of media"] += 1
                case _:
                    yield self.unknown(conversation.session_id, "a part of no known shape")

    def _answer(
        self, conversation: Conversation, line: dict[str, Any], answer: dict[str, Any], response: Any, at: int
    ) -> Found:
        outcome = line.get("toolCallResult")
        outcome = outcome if isinstance(outcome, dict) else {}
        call_id = text_or_none(answer.get("id")) or text_or_none(outcome.get("callId"))
        if call_id is None:
            name = answer.get("name")
            call_id = next((each for each, call in conversation.calls.items() if call.name == name), "")
        text: str | None
        match response:
            case {"output": str(given)} | {"error": str(given)}:
                output = gemini_output(given)
                text, status = output.text, output.status
            case _:
                text, status = block_text(response), "success"
        if isinstance(response, dict) and "error" in response:
            status = "failure"
        status = _STATUS.get(str(outcome.get("status")), status)
        turn = UserTurn.REFUSAL if status == "skipped" else None
        yield from conversation.answer(call_id, text, at, status, user_turn=turn)


def sniff(head: bytes, _name: str) -> int:
    """Recognise a chat by a message with parts inside the envelope."""
    for value in head_values(head):
        match value:
            case {"sessionId": str(), "uuid": str(), "message": {"parts": list()}}:
                return CERTAIN
            case _:
                continue
    return NO


FORMAT: Final = Format(
    NAME,
    UnitKind.LINES,
    sniff,
    QwenCode,
    QwenCode.resume,
    folder=".qwen/projects/*/chats/*.jsonl",
    also=(".qwen/projects/*/subagents/*/agent-*.jsonl", ".qwen/tmp/*/chats/*.jsonl"),
)
