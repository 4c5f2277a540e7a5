"""What Claude Code gives its hooks, one object a line: the calls of tools, and the end of a session at once.

Hooks have no time and no tokens. The hook of Eddy adds ``ts`` in ms; without it the clock is made up, a
second a record. Failures come as ``PostToolUseFailure``, never as ``PostToolUse``.
"""

from __future__ import annotations

from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import EPOCH_MS, ContextChange, Conversation, UserTurn
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.record import block_text, json_text, text_or_none, whole

NAME: Final = "claude-hooks"
_AGENT: Final = "claude-code"


class ClaudeHooks(LogAdapter):
    """Reads the lines that one or many sessions have written."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        event, session_id = value.get("hook_event_name"), text_or_none(value.get("session_id"))
        if not isinstance(event, str) or session_id is None:
            yield self.unknown(self.name, "a line without hook_event_name or session_id")
            return
        agent = text_or_none(value.get("agent_id"))
        conversation = self.conversation(session_id if agent is None else f"{session_id}/{agent}", _AGENT)
        match event:
            case "PostToolUse":
                yield from self._answer(conversation, value, _output(value.get("tool_response")), "success")
            case "PostToolUseFailure":
                status = "skipped" if value.get("is_interrupt") is True else "failure"
                yield from self._answer(conversation, value, text_or_none(value.get("error")), status)
            case "UserPromptSubmit":
                conversation.ask(text_or_none(value.get("prompt")))
                self.ignored[f"hook {event}"] += 1
            case "SessionStart" if value.get("source") in ("resume", "compact"):
                resumed = value.get("source") == "resume"
                conversation.change_context(ContextChange.RESUMED if resumed else ContextChange.COMPACTED)
                self.ignored[f"hook {event}"] += 1
            case "SessionEnd":
                yield conversation.end(self._time(value))
            case _:
                self.ignored[f"hook {event}"[:60]] += 1

    def _answer(
        self, conversation: Conversation, value: dict[str, Any], output: str | None, status: str
    ) -> Found:
        call_id, name = text_or_none(value.get("tool_use_id")), text_or_none(value.get("tool_name"))
        if call_id is None or name is None:
            yield self.unknown(conversation.session_id, "a call without tool_use_id or tool_name")
            return
        yield from conversation.call(call_id, name, value.get("tool_input"))
        turn = UserTurn.INTERRUPTION if status == "skipped" else None
        yield from conversation.answer(call_id, output, self._time(value), status, user_turn=turn)

    def _time(self, value: dict[str, Any]) -> int:
        given = whole(value.get("ts"))
        if given is not None:
            return given
        records: int = self.memory.get("records", 0)
        self.memory["records"] = records + 1
        return EPOCH_MS + 1000 * records


def sniff(head: bytes, _name: str) -> int:
    """Recognise a hook by the name of its event."""
    for value in head_values(head):
        if isinstance(value, dict) and {"hook_event_name", "session_id"} <= value.keys():
            return CERTAIN
    return NO


def _output(response: Any) -> str | None:
    """Return the text of a response: what a command printed, else its content, else all of it as JSON."""
    match response:
        case {"stdout": str(out), "stderr": str(errors)}:
            return f"{out}\n{errors}" if out and errors else out or errors
        case {"content": str() | list() as content}:
            return block_text(content)
        case dict():
            return json_text(response)
        case _:
            return block_text(response)


FORMAT: Final = Format(NAME, UnitKind.LINES, sniff, ClaudeHooks, ClaudeHooks.resume)
