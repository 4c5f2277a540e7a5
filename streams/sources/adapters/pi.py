"""The log of pi, ``~/.pi/agent/sessions/--<folder>--/<time>_<id>.jsonl``.

It is a tree of messages, which is read in the order of the file.
"""

from __future__ import annotations

from typing import Any, Final

from streams.sources.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.sources.adapters.conversation import EPOCH_MS, Conversation
from streams.sources.adapters.heads import head_values
from streams.sources.adapters.log import Found, LogAdapter
from streams.sources.adapters.record import block_text, milliseconds, text_or_none, whole, words_text

NAME: Final = "pi"


class Pi(LogAdapter):
    """Reads one session."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        kind, message = value.get("type"), value.get("message")
        if kind == "session":
            self.memory["session"] = text_or_none(value.get("id"))
            return
        if kind != "message" or not isinstance(message, dict):
            self.ignored[f"type {kind}"[:60]] += 1
            return
        conversation = self.conversation(self.memory.get("session") or self.name, NAME)
        at = self._time(message, value)
        match message.get("role"):
            case "user":
                conversation.ask(words_text(message.get("content")))
            case "assistant":
                yield from self._assistant(conversation, value, message, at)
            case "toolResult":
                call_id = text_or_none(message.get("toolCallId"))
                if call_id is None:
                    yield self.unknown(conversation.session_id, "toolResult without toolCallId")
                    return
                status = "failure" if message.get("isError") is True else "success"
                yield from conversation.answer(call_id, block_text(message.get("content")), at, status)
            case role:
                self.ignored[f"message of {role}"[:60]] += 1

    def _assistant(
        self, conversation: Conversation, line: dict[str, Any], message: dict[str, Any], at: int
    ) -> Found:
        usage = message.get("usage")
        if isinstance(usage, dict):
            conversation.spend(whole(usage.get("totalTokens")))
        called = False
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            match block:
                case {"type": "text", "text": str(text)} | str(text):
                    conversation.say(text)
                case {"type": "toolCall", "id": str(call_id), "name": str(name), **rest}:
                    called = True
                    yield from conversation.call(call_id, name, rest.get("arguments"), at=at)
                case {"type": str(kind)}:
                    self.ignored[f"block {kind}"[:60]] += 1
                case _:
                    yield self.unknown(conversation.session_id, "a block without a type")
        if not called:
            status = "failure" if message.get("stopReason") in ("error", "aborted") else "success"
            event_id = text_or_none(line.get("id")) or f"{conversation.session_id}/{at}"
            yield from conversation.finish(event_id, at, status)

    def _time(self, message: dict[str, Any], line: dict[str, Any]) -> int:
        """Return the time at which a message was written, else its own, else the latest time known."""
        found = milliseconds(line.get("timestamp"))
        if found is None:
            found = milliseconds(message.get("timestamp"))
        at: int = self.memory.get("at", EPOCH_MS) if found is None else found
        self.memory["at"] = at
        return at


def sniff(head: bytes, _name: str) -> int:
    """Recognise a session by its first line, or a message by its parent and role."""
    for value in head_values(head):
        match value:
            case {"type": "session", "version": int(), "id": str()}:
                return CERTAIN
            case {"type": "message", "parentId": _, "message": {"role": str()}}:
                return CERTAIN
            case _:
                continue
    return NO


FORMAT: Final = Format(NAME, UnitKind.LINES, sniff, Pi, Pi.resume, folder=".pi/agent/sessions/*/*.jsonl")
