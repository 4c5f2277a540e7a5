"""What ``gemini -p`` prints as stream-json: clean calls and results, tokens at the end alone."""

from __future__ import annotations

from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import Conversation
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.record import (
    LONGEST_WORDS,
    AgentStep,
    block_text,
    text_or_none,
    whole,
    words_text,
)

NAME: Final = "gemini-stream-json"
_AGENT: Final = "gemini-cli"


class GeminiStreamJson(LogAdapter):
    """Reads one run."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        kind, at = value.get("type"), self.time_of(value.get("timestamp"))
        if kind == "init":
            self.memory["session"] = text_or_none(value.get("session_id"))
            return
        conversation = self.conversation(self.memory.get("session") or self.name, _AGENT)
        match value:
            case {"type": "message", "role": "user"}:
                yield from conversation.conclude()
                conversation.ask(words_text(value.get("content")))
            case {"type": "message"}:
                self._say(conversation, value, at)
            case {"type": "tool_use", "tool_id": str(call_id), "tool_name": str(name)}:
                yield from conversation.call(call_id, name, value.get("parameters"), at=at)
            case {"type": "tool_result", "tool_id": str(call_id)}:
                failed = value.get("status") == "error"
                output = block_text(value.get("output"))
                if failed and output is None:
                    output = block_text(value.get("error"))
                yield from conversation.answer(call_id, output, at, "failure" if failed else "success")
            case {"type": "error", "message": str(text)} if "loop detected" in text.lower():
                event_id = f"{conversation.session_id}/loop_detected/{at}"
                yield conversation.entry(AgentStep(event_id, at, "failure", "system", signal="loop_detected"))
            case {"type": "result"}:
                yield from self._result(conversation, value)
            case _:
                self.ignored[f"type {kind}"[:60]] += 1

    def _say(self, conversation: Conversation, value: dict[str, Any], at: int) -> None:
        """Take words. Pieces of a message follow one another."""
        text = words_text(value.get("content"))
        if value.get("delta") is True and conversation.words is not None and text is not None:
            conversation.words = (conversation.words + text)[: 2 * LONGEST_WORDS]
        else:
            conversation.say(text)
        conversation.hold(f"{conversation.session_id}/{at}", at)

    def _result(self, conversation: Conversation, value: dict[str, Any]) -> Found:
        stats = value.get("stats")
        if isinstance(stats, dict):
            total, cached = whole(stats.get("total_tokens")), whole(stats.get("cached"))
            billed = None if total is None else max(0, total - (cached or 0))
            conversation.spend(billed, cached=cached or None)
        yield from conversation.conclude()


def sniff(head: bytes, _name: str) -> int:
    """Recognise a run by its first line, or by its calls."""
    for value in head_values(head):
        match value:
            case {"type": "init", "session_id": str(), "model": str()}:
                return CERTAIN
            case {"type": "tool_use", "tool_id": str(), "tool_name": str()}:
                return CERTAIN
            case _:
                continue
    return NO


FORMAT: Final = Format(NAME, UnitKind.LINES, sniff, GeminiStreamJson, GeminiStreamJson.resume)
