"""The log of pi, ``~/.pi/agent/sessions/--<folder>--/<time>_<id>.jsonl``.

It is a tree of messages, which is read in the order of the file. Until version 2 it is a list: its header
has no version, and its messages have no ids.
"""

from __future__ import annotations

from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import ContextChange, Conversation, UserTurn
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.record import (
    block_text,
    number,
    text_or_none,
    whole,
    words_text,
)

NAME: Final = "pi"
_COUNTS: Final = ("input", "output", "cacheWrite")
_ABORTED_COMMAND: Final = "Command aborted"  # stands below the output
_ABORTED: Final = ("aborted", "operation aborted", "command aborted", "interrupted")
_DIGITS_OF_A_COST: Final = 9


class Pi(LogAdapter):
    """Reads one session."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        kind, message = value.get("type"), value.get("message")
        if kind == "session":
            self.memory["session"] = text_or_none(value.get("id"))
            above = value.get("parentSession", value.get("branchedFrom"))
            self.memory["parent"] = (
                above.rsplit("_", 1)[-1].removesuffix(".jsonl") if isinstance(above, str) else None
            )
            return
        conversation = self.conversation(self.memory.get("session") or self.name, NAME)
        conversation.parent_session_id = self.memory.get("parent")
        if kind == "compaction":
            conversation.change_context(ContextChange.COMPACTED)
        if kind != "message" or not isinstance(message, dict):
            self.ignored[f"type {kind}"[:60]] += 1
            return
        at = self.time_of(value.get("timestamp"), message.get("timestamp"))
        match message.get("role"):
            case "user":
                conversation.ask(words_text(message.get("content")))
            case "assistant":
                yield from self._assistant(conversation, value, message, at)
            case "toolResult":
                yield from self._result(conversation, message, at)
            case role:
                self.ignored[f"message of {role}"[:60]] += 1

    def _result(self, conversation: Conversation, message: dict[str, Any], at: int) -> Found:
        call_id = text_or_none(message.get("toolCallId"))
        if call_id is None:
            yield self.unknown(conversation.session_id, "toolResult without toolCallId")
            return
        output, turn = block_text(message.get("content")), None
        status = "failure" if message.get("isError") is True else "success"
        if status == "failure" and _is_aborted(output or ""):
            status, turn = "skipped", UserTurn.INTERRUPTION
        yield from conversation.answer(call_id, output, at, status, user_turn=turn)

    def _assistant(
        self, conversation: Conversation, line: dict[str, Any], message: dict[str, Any], at: int
    ) -> Found:
        self._spend(conversation, message.get("usage"))
        event_id = text_or_none(line.get("id")) or f"{conversation.session_id}/{at}"
        called = False
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            match block:
                case {"type": "text", "text": str(text)} | str(text):
                    conversation.say(text)
                case {"type": "toolCall", "id": str(call_id), "name": str(name), **rest}:
                    called = True
                    yield from conversation.call(
                        call_id, name, rest.get("arguments"), at=at, round_id=event_id
                    )
                case {"type": "thinking" | "image" as kind}:
                    self.ignored[f"block {kind}"] += 1
                case _:
                    yield self.unknown(conversation.session_id, "a block of no known shape")
        aborted = message.get("stopReason") == "aborted"
        if not called:
            status = "failure" if aborted or message.get("stopReason") == "error" else "success"
            yield from conversation.finish(event_id, at, status)
        if aborted:
            conversation.person(UserTurn.INTERRUPTION)

    def _spend(self, conversation: Conversation, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        total, cached = whole(usage.get("totalTokens")), whole(usage.get("cacheRead"))
        if total is None:  # of older versions
            counts = [count for name in _COUNTS if (count := whole(usage.get(name))) is not None]
            billed = sum(counts) if counts else None
        else:
            billed = max(0, total - (cached or 0))
        conversation.spend(billed, cached=cached or None)
        cost = usage.get("cost")
        spent = number(cost.get("total")) if isinstance(cost, dict) else None
        if spent is not None and spent >= 0:
            conversation.cost = round((conversation.cost or 0.0) + spent, _DIGITS_OF_A_COST)


def _is_aborted(output: str) -> bool:
    """Tell whether a person stopped a call, by the words of pi before or below its output."""
    said = output.strip()
    return said.lower().startswith(_ABORTED) or said.endswith(f"\n\n{_ABORTED_COMMAND}")


def sniff(head: bytes, _name: str) -> int:
    """Recognise a session by its first line, or a message by its parent and role."""
    for value in head_values(head):
        match value:
            case {"type": "session", "version": int(), "id": str()}:
                return CERTAIN
            case {"type": "session", "id": str(), "timestamp": str(), "cwd": str()}:
                return CERTAIN
            case {"type": "message", "parentId": _, "message": {"role": str()}}:
                return CERTAIN
            case _:
                continue
    return NO


FORMAT: Final = Format(NAME, UnitKind.LINES, sniff, Pi, Pi.resume, folder=".pi/agent/sessions/*/*.jsonl")
