"""The session log of Claude Code, ``~/.claude/projects/<folder>/<session>.jsonl``: one line a content block.

A message with words and two calls is three lines with the same message id and the same usage. A sub-agent
writes a file of its own and is a session of its own, ``<session>/<agent>``. Lines of types other than
``user`` and ``assistant`` say nothing of a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streams.sources.adapters.adapter import CERTAIN, NO, Format, Problem, UnitKind
from streams.sources.adapters.conversation import Conversation
from streams.sources.adapters.log import Found, LogAdapter
from streams.sources.adapters.record import (
    LONGEST_NAME,
    block_text,
    decoded,
    milliseconds,
    text_or_none,
    whole,
)

NAME: Final = "claude-code"
_SYNTHETIC: Final = "<synthetic>"
_USAGE: Final = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)
_REJECTED: Final = "The user doesn't want to proceed with this tool use."
_LINES_SNIFFED: Final = 20
_REMEMBERED: Final = 4096


class ClaudeCode(LogAdapter):
    """Reads one log. Lines that a resumed session has copied are left out by their ``uuid``."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        kind, message = value.get("type"), value.get("message")
        if kind not in ("user", "assistant") or not isinstance(message, dict):
            self.ignored[f"type {kind}"[:60]] += 1
            return
        session_id = text_or_none(value.get("sessionId"))
        at = milliseconds(value.get("timestamp"))
        if session_id is None or at is None:
            yield self.unknown(self.name, f"{kind} without sessionId or timestamp")
            return
        if self._repeated(value.get("uuid")):
            self.ignored["repeated line"] += 1
            return
        agent = text_or_none(value.get("agentId")) if value.get("isSidechain") is True else None
        conversation = self.conversation(session_id if agent is None else f"{session_id}/{agent}", NAME)
        conversation.version = text_or_none(value.get("version")) or conversation.version
        if kind == "assistant":
            yield from self._assistant(conversation, value, message, at)
        else:
            yield from self._user(conversation, value, message, at)

    def _assistant(
        self, conversation: Conversation, line: dict[str, Any], message: dict[str, Any], at: int
    ) -> Found:
        uuid = text_or_none(line.get("uuid")) or f"{conversation.session_id}/{at}"
        synthetic = message.get("model") == _SYNTHETIC or line.get("isApiErrorMessage") is True
        if not synthetic:
            conversation.spend(message_tokens(message.get("usage")), text_or_none(message.get("id")))
        calls = False
        for block in blocks(message.get("content")):
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_use":
                call_id, name = block.get("id"), block.get("name")
                if isinstance(call_id, str) and isinstance(name, str):
                    calls = True
                    yield from conversation.call(call_id, name, block.get("input"), parent=uuid, at=at)
                    continue
            elif kind == "text" and isinstance(text := block.get("text"), str):
                conversation.say(text)
                continue
            yield from self._other(conversation, kind)
        if synthetic:
            yield from conversation.finish(uuid, at, "failure")
        elif not calls and message.get("stop_reason") not in (None, "tool_use", "pause_turn"):
            yield from conversation.finish(uuid, at)
        elif not calls:
            # Some versions write no reason: the next prompt shows that the turn has ended.
            conversation.hold(uuid, at)

    def _user(
        self, conversation: Conversation, line: dict[str, Any], message: dict[str, Any], at: int
    ) -> Found:
        words = not (line.get("isMeta") is True or line.get("isCompactSummary") is True)
        for block in blocks(message.get("content")):
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_result" and isinstance(call_id := block.get("tool_use_id"), str):
                output = block_text(block.get("content"))
                yield from conversation.answer(
                    call_id, output, at, call_status(block.get("is_error"), output)
                )
            elif kind == "text" and words and isinstance(text := block.get("text"), str):
                yield from conversation.conclude()
                conversation.ask(text)
            else:
                yield from self._other(conversation, kind)

    def _other(self, conversation: Conversation, kind: Any) -> Iterator[Problem]:
        """Count a block that says nothing of a step."""
        if isinstance(kind, str):
            self.ignored[f"block {kind}"[:60]] += 1
        else:
            yield self.unknown(conversation.session_id, "a block without a type")

    def _repeated(self, uuid: Any) -> bool:
        if not isinstance(uuid, str) or not 0 < len(uuid) <= LONGEST_NAME:
            return False
        seen: dict[str, None] = self.memory.setdefault("uuids", {})
        if uuid in seen:
            return True
        if len(seen) >= _REMEMBERED:
            del seen[next(iter(seen))]
        seen[uuid] = None
        return False


def sniff(head: bytes, _name: str) -> int:
    """Recognise a log by the keys of its first lines."""
    for line in head.splitlines()[:_LINES_SNIFFED]:
        value = decoded(line)
        if not isinstance(value, dict) or "sessionId" not in value:
            continue
        if "uuid" in value or "parentUuid" in value or value.get("type") == "queue-operation":
            return CERTAIN
    return NO


def blocks(content: Any) -> Iterator[Any]:
    """Yield the blocks of a content, which may be a text."""
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from content


def call_status(failed: object, output: str | None) -> str:
    """Return how a call ended by its flag ``is_error``: a call that the user rejected did not run.

    >>> call_status(True, "The user doesn't want to proceed with this tool use. The tool use was rejected.")
    'skipped'
    """
    if failed is not True:
        return "success"
    return "skipped" if output is not None and output.startswith(_REJECTED) else "failure"


def message_tokens(usage: Any) -> int | None:
    """Return all tokens of a message: Anthropic's input leaves out what was cached."""
    if not isinstance(usage, dict):
        return None
    counts = [count for name in _USAGE if (count := whole(usage.get(name))) is not None]
    return sum(counts) if counts else None


FORMAT: Final = Format(
    NAME,
    UnitKind.LINES,
    sniff,
    ClaudeCode,
    ClaudeCode.resume,
    folder=".claude/projects/**/*.jsonl",
)
