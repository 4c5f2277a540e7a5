"""What ``claude -p`` prints as stream-json: the messages of its log with fewer fields.

Answers have no time: they get the latest time known. No message says why it ended: the line ``result`` ends a
turn.
"""

from __future__ import annotations

from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.claude_code import answered, blocks, message_tokens
from streams.formats.adapters.conversation import ContextChange, Conversation
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.record import text_or_none

NAME: Final = "claude-stream-json"
_AGENT: Final = "claude-code"


class ClaudeStreamJson(LogAdapter):
    """Reads one stream. A sub-agent is a session of its own, named after the call that began it."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        kind, session_id = value.get("type"), text_or_none(value.get("session_id"))
        if session_id is None:
            yield self.unknown(self.name, f"{str(kind)[:40]} without session_id")
            return
        above = text_or_none(value.get("parent_tool_use_id"))
        conversation = self.conversation(session_id if above is None else f"{session_id}/{above}", _AGENT)
        conversation.version = self.memory.get("version")
        conversation.parent_session_id = None if above is None else session_id
        at = self.time_of(value.get("timestamp"))
        match kind, value.get("message"):
            case "system", _:
                self.memory["version"] = (
                    text_or_none(value.get("claude_code_version")) or conversation.version
                )
                if value.get("subtype") == "compact_boundary":
                    conversation.change_context(ContextChange.COMPACTED)
                self.ignored[f"system {value.get('subtype')}"[:60]] += 1
            case "assistant", dict(message):
                yield from self._assistant(conversation, value, message, at)
            case "user", dict(message):
                yield from self._user(conversation, message, at)
            case "result", _:
                yield from conversation.conclude()
            case _:
                self.ignored[f"type {kind}"[:60]] += 1

    def _assistant(
        self, conversation: Conversation, line: dict[str, Any], message: dict[str, Any], at: int
    ) -> Found:
        uuid = text_or_none(line.get("uuid")) or f"{conversation.session_id}/{at}"
        message_id = text_or_none(message.get("id"))
        conversation.spend(*message_tokens(message, message_id))
        for block in blocks(message.get("content")):
            match block:
                case {"type": "text", "text": str(text)}:
                    conversation.say(text)
                    conversation.hold(uuid, at)
                case {"type": str(kind), "id": str(call_id), "name": str(name)} if kind.endswith("tool_use"):
                    yield from conversation.call(
                        call_id, name, block.get("input"), parent=uuid, at=at, round_id=message_id
                    )
                case {"type": str(kind), "tool_use_id": str()} if kind.endswith("tool_result"):
                    yield from answered(conversation, block, at)
                case {"type": str(kind)}:
                    self.ignored[f"block {kind}"[:60]] += 1
                case _:
                    yield self.unknown(conversation.session_id, "a block without a type")

    def _user(self, conversation: Conversation, message: dict[str, Any], at: int) -> Found:
        for block in blocks(message.get("content")):
            match block:
                case {"type": "tool_result", "tool_use_id": str()}:
                    yield from answered(conversation, block, at)
                case {"type": "text", "text": str(text)}:
                    conversation.ask(text, is_person=conversation.parent_session_id is None)
                case {"type": str(kind)}:
                    self.ignored[f"block {kind}"[:60]] += 1
                case _:
                    yield self.unknown(conversation.session_id, "a block without a type")


def sniff(head: bytes, _name: str) -> int:
    """Recognise a stream by its first line, or by a message with a session."""
    for value in head_values(head):
        match value:
            case {"type": "system", "subtype": "init", "session_id": str()}:
                return CERTAIN
            case {"type": "assistant" | "user", "session_id": str(), "message": dict(), "uuid": str()}:
                return CERTAIN
            case _:
                continue
    return NO


FORMAT: Final = Format(NAME, UnitKind.LINES, sniff, ClaudeStreamJson, ClaudeStreamJson.resume)
