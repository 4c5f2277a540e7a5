"""The log of Gemini CLI, ``~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl``.

A message is written again under its id when its calls are done, and its tokens count once. Lines with
``$set`` repeat what is there. A call that failed has the status ``success``, and its exit code in the text.
A sub-agent writes ``chats/<session above>/<id>.jsonl``, and its header says ``subagent``.
"""

from __future__ import annotations

from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import Conversation, Usage, UserTurn
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.record import (
    LONGEST_NAME,
    block_text,
    milliseconds,
    text_or_none,
    whole,
    words_text,
)
from streams.formats.adapters.shell_output import gemini_output

NAME: Final = "gemini-cli"
_CONTEXT: Final = ("<session_context>", "System: ")
_REMEMBERED: Final = 4096
_STATUS: Final = {"error": "failure", "cancelled": "skipped"}
_ENDED: Final = frozenset({"success", *_STATUS})


class GeminiCli(LogAdapter):
    """Reads one chat."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        if "$set" in value:
            self.ignored["change of the list"] += 1
            return
        if "sessionId" in value and "type" not in value:
            self.memory["session"] = text_or_none(value.get("sessionId"))
            self.memory["subagent"] = value.get("kind") == "subagent"
            return
        conversation = self.conversation(self.memory.get("session") or self.name, NAME)
        below = self.memory.get("subagent") is True
        conversation.parent_session_id = _above(self.name) if below else None
        message_id = text_or_none(value.get("id"))
        at = self.time_of(value.get("timestamp"))
        match value.get("type"):
            case "gemini" if message_id is not None:
                yield from self._answer(conversation, value, message_id, at)
            case "user":
                text = words_text(value.get("content"))
                if text and not text.startswith(_CONTEXT):
                    yield from conversation.conclude()
                    # To a sub-agent the agent above speaks, not a person.
                    conversation.ask(text, is_person=not below)
            case kind:
                self.ignored[f"type {kind}"[:60]] += 1

    def _answer(self, conversation: Conversation, message: dict[str, Any], message_id: str, at: int) -> Found:
        if message_id != self.memory.get("message"):
            yield from conversation.conclude()
            self.memory["message"] = message_id
            conversation.say(words_text(message.get("content")))
            conversation.hold(message_id, at)
        tokens = message.get("tokens")
        if isinstance(tokens, dict):
            total, cached = whole(tokens.get("total")), whole(tokens.get("cached"))
            billed = None if total is None else max(0, total - (cached or 0))
            sent, used = whole(tokens.get("input")), None
            if total is not None and sent is not None:  # the input includes what was read from a cache
                parts = max(0, sent - (cached or 0)), 0, max(0, total - sent), cached or 0
                used = Usage(text_or_none(message.get("model")), *parts)
            conversation.spend(billed, message_id, cached or None, used)
        calls = message.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            yield from self._call(conversation, call, message_id, at)

    def _call(self, conversation: Conversation, call: Any, message_id: str, at: int) -> Found:
        match call:
            case {"id": str(call_id), "name": str(name)} if call_id and _has_ended(call):
                if self._repeated(call_id):
                    return
                text, status = _result(call.get("result"))
                status = _STATUS.get(str(call.get("status")), status)
                ended = milliseconds(call.get("timestamp"))
                yield from conversation.call(
                    call_id, name, call.get("args"), parent=message_id, round_id=message_id
                )
                turn = UserTurn.REFUSAL if status == "skipped" else None
                ended = at if ended is None else ended
                yield from conversation.answer(call_id, text, ended, status, user_turn=turn)
            case {"id": str(call_id), "name": str()} if call_id:
                self.ignored["call that still runs"] += 1
            case _:
                yield self.unknown(conversation.session_id, "a call without id or name")

    def _repeated(self, call_id: str) -> bool:
        seen: dict[str, None] = self.memory.setdefault("calls", {})
        if call_id in seen:
            return True
        if len(seen) >= _REMEMBERED:
            del seen[next(iter(seen))]
        seen[call_id] = None
        return False


def sniff(head: bytes, _name: str) -> int:
    """Recognise a chat by its first line."""
    for value in head_values(head):
        if isinstance(value, dict) and {"sessionId", "projectHash"} <= value.keys():
            return NO if "messages" in value else CERTAIN
    return NO


def _above(name: str) -> str | None:
    """Return the session above a sub-agent: the folder of its file, below ``chats``.

    >>> _above(".gemini/tmp/p/chats/session-above/a1.jsonl"), _above("a1.jsonl")
    ('session-above', None)
    """
    match name.replace("\\", "/").split("/"):
        case [*_, "chats", above, _]:
            return above[:LONGEST_NAME] or None
        case _:
            return None


def _has_ended(call: dict[str, Any]) -> bool:
    """Tell whether a call has a result, or a status that no longer changes."""
    return call.get("result") is not None or call.get("status") in _ENDED


def _result(result: Any) -> tuple[str | None, str]:
    """Return the text of a result and the status that it says; None for a text that was not captured."""
    if result is None:
        return None, "success"
    texts, failed = [], False
    for part in result if isinstance(result, list) else [result]:
        match part:
            case {"functionResponse": {"response": {"output": str(text)}}}:
                texts.append(text)
            case {"functionResponse": {"response": {"error": str(text)}}}:
                texts.append(text)
                failed = True
            case {"functionResponse": {"response": response}}:
                texts.append(block_text(response) or "")
            case _:
                texts.append(block_text([part]) or "")
    output = gemini_output("\n".join(texts))
    return output.text, "failure" if failed else output.status


FORMAT: Final = Format(
    NAME,
    UnitKind.LINES,
    sniff,
    GeminiCli,
    GeminiCli.resume,
    folder=".gemini/tmp/*/chats/session-*.json*",  # also the chats of older versions, see `gemini_chat`
    also=(".gemini/tmp/*/chats/*/*.jsonl",),  # of sub-agents
)
