"""The session log of Claude Code, ``~/.claude/projects/<folder>/<session>.jsonl``: one line a content block.

A message with words and two calls is three lines with the same message id and the same usage. A sub-agent
writes a file of its own and is a session of its own, ``<session>/<agent>``. In version 1.0 it writes into
the file of its session and has no id: its lines are found by their ``parentUuid``, and it is named after the
first of them. A line that a fork has copied from its parent is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, Problem, UnitKind
from streams.formats.adapters.conversation import INTERRUPTED, ContextChange, Conversation, Usage, UserTurn
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.record import (
    LONGEST_NAME,
    block_text,
    decoded,
    milliseconds,
    text_or_none,
    whole,
)

NAME: Final = "claude-code"
_SYNTHETIC: Final = "<synthetic>"
_REFUSED: Final = (
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "User rejected tool use",
)
_SAYS_NOTHING: Final = frozenset(
    {"thinking", "redacted_thinking", "image", "document", "fallback", "compaction"}
)
_LINES_SNIFFED: Final = 20
_REMEMBERED: Final = 4096


class ClaudeCode(LogAdapter):
    """Reads one log. Lines that a resumed session has copied are left out by their ``uuid``."""

    version = 3
    left_out = frozenset({"progress", "file-history-snapshot", "queue-operation", "summary", "last-prompt"})

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        kind, message = value.get("type"), value.get("message")
        if kind not in ("user", "assistant") or not isinstance(message, dict):
            if kind in ("system", "attachment"):
                self._beside(kind, value)
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
        conversation = self._conversation(session_id, value)
        if isinstance(origin := value.get("forkedFrom"), dict):
            conversation.parent_session_id = text_or_none(origin.get("sessionId"))
            self.ignored["line copied from the session that was forked"] += 1
            return
        if not isinstance(message.get("content"), str | list):
            yield self.unknown(session_id, f"{kind} message without content")
            return
        conversation.version = text_or_none(value.get("version")) or conversation.version
        if kind == "assistant":
            yield from self._assistant(conversation, value, message, at)
        else:
            yield from self._user(conversation, value, message, at)

    def _conversation(self, session_id: str, line: dict[str, Any]) -> Conversation:
        if line.get("isSidechain") is not True:
            return self.conversation(session_id, NAME)
        agent = text_or_none(line.get("agentId")) or self._chain(line)
        if agent is None:
            return self.conversation(session_id, NAME)
        conversation = self.conversation(f"{session_id}/{agent}", NAME)
        conversation.parent_session_id = session_id
        return conversation

    def _chain(self, line: dict[str, Any]) -> str | None:
        """Return the first line of the chain that a line of a sub-agent continues.

        Only lines that came before are looked up, so chains that go in a circle end.
        """
        uuid, above = text_or_none(line.get("uuid")), text_or_none(line.get("parentUuid"))
        roots: dict[str, str] = self.memory.setdefault("chains", {})
        root = roots.get(above) if above is not None else None
        root = root or uuid
        if uuid is not None and root is not None and len(uuid) <= LONGEST_NAME:
            if len(roots) >= _REMEMBERED:
                del roots[next(iter(roots))]
            roots.setdefault(uuid, root)
        return root

    def _beside(self, kind: Any, line: dict[str, Any]) -> None:
        """Take what stands between the messages: a compaction, words that a person wrote meanwhile."""
        match line:
            case {"sessionId": str(session_id), "subtype": "compact_boundary"} if kind == "system":
                self._conversation(session_id, line).change_context(ContextChange.COMPACTED)
            case {
                "sessionId": str(session_id),
                "attachment": {"type": "queued_command", "prompt": str(prompt)},
            } if kind == "attachment":
                self._conversation(session_id, line).ask(prompt)
            case _:
                pass

    def _assistant(
        self, conversation: Conversation, line: dict[str, Any], message: dict[str, Any], at: int
    ) -> Found:
        uuid = text_or_none(line.get("uuid")) or f"{conversation.session_id}/{at}"
        message_id = text_or_none(message.get("id"))
        synthetic = message.get("model") == _SYNTHETIC or line.get("isApiErrorMessage") is True
        if not synthetic:
            conversation.spend(*message_tokens(message, message_id))
        calls = False
        for block in blocks(message.get("content")):
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "thinking":  # most blocks are
                self.ignored["block thinking"] += 1
                continue
            match block:
                case {"type": "text", "text": str(text)}:
                    conversation.say(text)
                case {"id": str(call_id), "name": str(name)} if str(kind).endswith("tool_use"):
                    calls = True
                    yield from conversation.call(
                        call_id, name, block.get("input"), parent=uuid, at=at, round_id=message_id
                    )
                case {"tool_use_id": str()} if str(kind).endswith("tool_result"):
                    yield from answered(conversation, block, at)
                case _:
                    yield from self._other(conversation, block)
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
        if line.get("isCompactSummary") is True:
            conversation.change_context(ContextChange.COMPACTED)
        words = not (line.get("isMeta") is True or line.get("isCompactSummary") is True)
        for block in blocks(message.get("content")):
            match block:
                case {"type": str(kind), "tool_use_id": str()} if kind.endswith("tool_result"):
                    yield from answered(conversation, block, at)
                case {"type": "text", "text": str(text)} if words:
                    yield from conversation.conclude()
                    # In a sub-agent the agent above speaks, not a person.
                    conversation.ask(text, is_person=line.get("isSidechain") is not True)
                case {"type": "text"}:
                    self.ignored["block text"] += 1
                case _:
                    yield from self._other(conversation, block)

    def _other(self, conversation: Conversation, block: Any) -> Iterator[Problem]:
        """Count a block that says nothing of a step."""
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind in _SAYS_NOTHING:
            self.ignored[f"block {kind}"] += 1
        else:
            named = f"a block of type {kind}" if isinstance(kind, str) else "a block without a type"
            yield self.unknown(conversation.session_id, named)

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


def answered(conversation: Conversation, block: dict[str, Any], at: int) -> Found:
    """Yield what a block with the result of a call completes."""
    output = block_text(block.get("content"))
    status, turn = call_status(block.get("is_error"), output)
    yield from conversation.answer(str(block["tool_use_id"]), output, at, status, user_turn=turn)


def call_status(failed: object, output: str | None) -> tuple[str, UserTurn | None]:
    """Return how a call ended by its flag ``is_error``, and what a person did to it.

    A call that a person refused or interrupted neither failed nor succeeded.

    >>> call_status(True, "The user doesn't want to proceed with this tool use. The tool use was rejected.")
    ('skipped', <UserTurn.REFUSAL: 'refusal'>)
    >>> call_status(True, "Exit code 1")
    ('failure', None)
    """
    if failed is not True:
        return "success", None
    text = (output or "").lstrip().removeprefix("Error: ")
    if text.startswith(_REFUSED):
        return "skipped", UserTurn.REFUSAL
    if text.startswith(INTERRUPTED):
        return "skipped", UserTurn.INTERRUPTION
    return "failure", None


def message_tokens(
    message: dict[str, Any], message_id: str | None
) -> tuple[int | None, str | None, int | None, Usage | None]:
    """Return what `Conversation.spend` takes of a message."""
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None, message_id, None, None
    sent = whole(usage.get("input_tokens"))
    kept = whole(usage.get("cache_creation_input_tokens"))
    written = whole(usage.get("output_tokens"))
    cached = whole(usage.get("cache_read_input_tokens")) or None
    if sent is None and kept is None and written is None:
        return None, message_id, cached, None
    parts = sent or 0, kept or 0, written or 0
    return sum(parts), message_id, cached, Usage(text_or_none(message.get("model")), *parts, cached or 0)


FORMAT: Final = Format(
    NAME,
    UnitKind.LINES,
    sniff,
    ClaudeCode,
    ClaudeCode.resume,
    folder=".claude/projects/**/*.jsonl",
)
