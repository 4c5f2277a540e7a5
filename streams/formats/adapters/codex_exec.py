"""What ``codex exec --json`` prints: items as they end, without times; tokens at the end of a turn.

A command is wrapped in a call of a shell, which is taken off.
"""

from __future__ import annotations

import shlex
from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import EPOCH_MS, Conversation
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.record import block_text, text_or_none, whole

NAME: Final = "codex-exec"
_AGENT: Final = "codex"
_SHELL_WORDS: Final = 3
_FAILED: Final = {"failed": "failure", "declined": "skipped"}


class CodexExec(LogAdapter):
    """Reads one run."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        kind = value.get("type")
        if kind == "thread.started":
            self.memory["thread"] = text_or_none(value.get("thread_id"))
            return
        conversation = self.conversation(self.memory.get("thread") or self.name, _AGENT)
        match kind, value.get("item"):
            case "item.completed", dict(item):
                yield from self._item(conversation, item)
            case "turn.completed" | "turn.failed", _:
                usage = value.get("usage")
                if isinstance(usage, dict):
                    counts = [whole(usage.get(name)) for name in ("input_tokens", "output_tokens")]
                    cached = whole(usage.get("cached_input_tokens")) or 0  # the input includes them
                    spent = max(0, sum(count or 0 for count in counts) - cached)
                    conversation.spend(spent, cached=cached or None)
                yield from conversation.conclude()
            case _:
                self.ignored[f"type {kind}"[:60]] += 1

    def _item(self, conversation: Conversation, item: dict[str, Any]) -> Found:
        item_id = text_or_none(item.get("id")) or str(self.memory.get("records", 0))
        event_id = f"{conversation.session_id}/{item_id}"
        status = _FAILED.get(str(item.get("status")), "success")
        match item:
            case {"type": "command_execution", "command": str(command)}:
                failed = whole(item.get("exit_code")) != 0 and item.get("exit_code") is not None
                yield from conversation.call(event_id, "exec_command", {"cmd": unwrapped(command)})
                output = block_text(item.get("aggregated_output"))
                outcome = "failure" if failed and status == "success" else status
                yield from conversation.answer(event_id, output, self._time(), outcome)
            case {"type": "mcp_tool_call", "tool": str(tool)}:
                server = text_or_none(item.get("server"))
                name = tool if server is None else f"mcp__{server}__{tool}"
                yield from conversation.call(event_id, name, item.get("arguments"))
                output = block_text(item.get("result") if item.get("error") is None else item.get("error"))
                yield from conversation.answer(event_id, output, self._time(), status)
            case {"type": "file_change" | "web_search" as tool}:
                arguments = item.get("changes") if tool == "file_change" else item.get("query")
                yield from conversation.call(event_id, tool, arguments)
                yield from conversation.answer(event_id, None, self._time(), status)
            case {"type": "collab_tool_call", "tool": str(tool)}:
                given = {key: item[key] for key in ("receiver_thread_ids", "prompt") if item.get(key)}
                yield from conversation.call(event_id, tool, given)
                output = block_text(item.get("agents_states"))
                yield from conversation.answer(event_id, output, self._time(), status)
            case {"type": "agent_message", "text": str(text)}:
                conversation.say(text)
                conversation.hold(event_id, self._time())
            case {"type": str(kind)}:
                self.ignored[f"item {kind}"[:60]] += 1
            case _:
                yield self.unknown(conversation.session_id, "an item without a type")

    def _time(self) -> int:
        records: int = self.memory.get("records", 0)
        self.memory["records"] = records + 1
        return EPOCH_MS + 1000 * records


def unwrapped(command: str) -> str:
    """Return the command that a shell was called with.

    >>> unwrapped("/bin/bash -lc 'cat a.py'"), unwrapped("cat a.py")
    ('cat a.py', 'cat a.py')
    """
    if " -lc " not in command and " -c " not in command:
        return command
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_shell = len(words) == _SHELL_WORDS and words[0].endswith("sh") and words[1] in ("-lc", "-c")
    return words[2] if is_shell else command


def sniff(head: bytes, _name: str) -> int:
    """Recognise a run by its first line, or by the items."""
    for value in head_values(head):
        match value:
            case {"type": "thread.started", "thread_id": str()}:
                return CERTAIN
            case {"type": "item.completed" | "item.started", "item": {"id": str(), "type": str()}}:
                return CERTAIN
            case _:
                continue
    return NO


FORMAT: Final = Format(NAME, UnitKind.LINES, sniff, CodexExec, CodexExec.resume)
