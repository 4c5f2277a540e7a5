"""The log of Codex, ``~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl``.

Every command is there twice, and so are its tokens: as items of the model and as events of the program. The
items are read. Tokens come before the result of a call, and after the last words of a turn. These wait.
"""

from __future__ import annotations

from typing import Any, Final

from streams.sources.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.sources.adapters.conversation import EPOCH_MS, Conversation
from streams.sources.adapters.heads import head_values
from streams.sources.adapters.log import Found, LogAdapter
from streams.sources.adapters.record import (
    block_text,
    json_value,
    milliseconds,
    text_or_none,
    whole,
    words_text,
)
from streams.sources.adapters.shell_output import codex_output

NAME: Final = "codex"
_ABOUT_THE_MACHINE: Final = ("<environment_context>", "<user_instructions>", "# AGENTS.md")
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_ANSWERS: Final = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})


class Codex(LogAdapter):
    """Reads one rollout. A sub-agent has a rollout, and so a session, of its own."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        kind, payload = value.get("type"), value.get("payload")
        if not isinstance(kind, str) or not isinstance(payload, dict):
            yield self.unknown(self.name, "a line without type or payload")
            return
        if kind == "session_meta":
            self.memory["session"] = text_or_none(payload.get("id")) or text_or_none(
                payload.get("session_id")
            )
            self.memory["version"] = text_or_none(payload.get("cli_version"))
        session_id = self.memory.get("session") or self.name
        conversation = self.conversation(session_id, NAME)
        conversation.version = self.memory.get("version")
        at = self._time(value)
        match kind:
            case "response_item":
                yield from self._item(conversation, payload, at)
            case "event_msg":
                yield from self._event(conversation, payload)
            case "token_usage_record":
                self.memory["counted"] = True
                conversation.spend(_tokens(payload.get("usage")))
                yield from conversation.conclude()
            case _:
                self.ignored[f"type {kind}"[:60]] += 1

    def _item(self, conversation: Conversation, item: dict[str, Any], at: int) -> Found:
        kind, call_id = (
            text_or_none(item.get("type")),
            text_or_none(item.get("call_id")) or text_or_none(item.get("id")),
        )
        if kind in _CALLS and call_id is not None:
            name = text_or_none(item.get("name")) or "local_shell"
            arguments = next(
                (item[key] for key in ("arguments", "input", "action") if item.get(key) is not None), None
            )
            yield from conversation.call(call_id, name, arguments, at=at)
        elif kind in _ANSWERS and call_id is not None:
            output = codex_output(_output(item.get("output")))
            yield from conversation.answer(call_id, output.text, at, output.status)
        elif kind == "message":
            yield from self._message(conversation, item, call_id or f"{conversation.session_id}/{at}", at)
        else:
            self.ignored[f"item {kind}"[:60]] += 1

    def _message(self, conversation: Conversation, item: dict[str, Any], event_id: str, at: int) -> Found:
        text = words_text(item.get("content"))
        match item.get("role"):
            case "assistant":
                conversation.say(text)
                conversation.hold(event_id, at)
            case "user":
                yield from conversation.conclude()
                if text is not None and not text.lstrip().startswith(_ABOUT_THE_MACHINE):
                    conversation.ask(text)
            case role:
                self.ignored[f"message of {role}"[:60]] += 1

    def _event(self, conversation: Conversation, event: dict[str, Any]) -> Found:
        match event:
            case {"type": "token_count", "info": dict(info)} if "counted" not in self.memory:
                # What older versions have alone: the sum over the session.
                total = _tokens(info.get("total_token_usage"))
                if total is not None:
                    known: int = self.memory.get("total", 0)
                    self.memory["total"] = total
                    conversation.spend(max(0, total - known))
                yield from conversation.conclude()
            case {"type": "task_complete" | "turn_aborted"}:
                yield from conversation.conclude()
            case {"type": str(kind)}:
                self.ignored[f"event {kind}"[:60]] += 1
            case _:
                yield self.unknown(conversation.session_id, "an event without a type")

    def _time(self, value: dict[str, Any]) -> int:
        """Return the time of a line; of one without, the latest time known."""
        given = milliseconds(value.get("timestamp"))
        at: int = self.memory.get("at", EPOCH_MS) if given is None else given
        self.memory["at"] = at
        return at


def sniff(head: bytes, _name: str) -> int:
    """Recognise a rollout by its first line, or by the items of the model."""
    for value in head_values(head):
        match value:
            case {"type": "session_meta" | "response_item" | "event_msg", "payload": dict()}:
                return CERTAIN
            case _:
                continue
    return NO


def _output(output: Any) -> str:
    """Return the text of an output: text, blocks, or an object with the text in it."""
    match json_value(output) if isinstance(output, str) and output.startswith("{") else output:
        case {"content": content} if not isinstance(output, str):
            return block_text(content) or ""
        case _:
            return block_text(output) or ""


def _tokens(usage: Any) -> int | None:
    """Return all tokens of a usage: those of the input include cached ones."""
    if not isinstance(usage, dict):
        return None
    total = whole(usage.get("total_tokens"))
    if total is not None:
        return total
    counts = [whole(usage.get(name)) for name in ("input_tokens", "output_tokens")]
    return None if counts == [None, None] else sum(count or 0 for count in counts)


FORMAT: Final = Format(
    NAME,
    UnitKind.LINES,
    sniff,
    Codex,
    Codex.resume,
    folder=".codex/sessions/**/rollout-*.jsonl",
)
