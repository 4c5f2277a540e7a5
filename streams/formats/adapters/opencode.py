"""A session of OpenCode, as ``opencode export SESSION`` writes it: its messages, and the parts of each.

OpenCode keeps sessions in many small files, or in a database. A file of its storage is recognised, and a
problem says what to run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from streams.formats.adapters.adapter import CERTAIN, NO, Format, IntakeReason, Problem, UnitKind
from streams.formats.adapters.conversation import EPOCH_MS, ContextChange, Conversation, UserTurn
from streams.formats.adapters.document import DocumentAdapter, DocumentValue
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import (
    LONGEST_NAME,
    LONGEST_TEXT,
    block_text,
    media_text,
    milliseconds,
    number,
    text_or_none,
    whole,
)

_NAME_OF_ERROR: Final = re.compile(r"\s*(?:[A-Za-z]{0,60}Error: )?")
_REFUSED: Final = ("The user rejected permission", "The user dismissed this question", "The user declined")
_INTERRUPTED: Final = ("Tool execution aborted", "Tool execution was interrupted", "User aborted the command")
_METADATA: Final = ("<bash_metadata>", "<metadata>", "<shell_metadata>")
_LOOKED_AT: Final = 600


class CallEnd(NamedTuple):
    """The result of a call as text, its status, and what a person did to it."""

    output: str | None
    status: str
    turn: UserTurn | None = None


def ended(tool: str, state: dict[str, Any]) -> CallEnd | None:
    """Return how a call ended, None if it did not.

    >>> ended("bash", {"status": "completed", "output": "no", "metadata": {"exit": 1}})
    CallEnd(output='no', status='failure', turn=None)
    >>> ended(
    ...     "edit", {"status": "error", "error": "Error: The user rejected permission to use this tool"}
    ... ).status
    'skipped'
    """
    match state.get("status"):
        case "completed":
            return _completed(tool, state)
        case "error":
            output = block_text(state.get("error"))
            words = _NAME_OF_ERROR.sub("", (output or "")[:_LOOKED_AT], count=1)
            if words.startswith(_REFUSED):
                return CallEnd(output, "skipped", UserTurn.REFUSAL)
            if words.startswith(_INTERRUPTED):
                return CallEnd(output, "skipped", UserTurn.INTERRUPTION)
            return CallEnd(output, "failure")
        case _:
            return None


def _completed(tool: str, state: dict[str, Any]) -> CallEnd:
    output = block_text(state.get("output"))
    attached = state.get("attachments")
    if isinstance(attached, list) and attached:
        shown = [media_text(_kind(each), _content(each)) for each in attached]
        output = "\n".join([output, *shown] if output else shown)
    metadata = state.get("metadata")
    code = metadata.get("exit") if isinstance(metadata, dict) else None
    tail = (output or "")[-_LOOKED_AT:]
    remark = max(tail.rfind(each) for each in _METADATA)
    if remark >= 0 and "User aborted the command" in tail[remark:]:
        return CallEnd(output, "skipped", UserTurn.INTERRUPTION)
    timed_out = remark >= 0 and "exceeding timeout" in tail[remark:]
    failed = isinstance(code, int) and code != 0
    return CallEnd(output, "failure" if failed or timed_out or tool == "invalid" else "success")


def _kind(attachment: Any) -> str:
    kind = attachment.get("mime") if isinstance(attachment, dict) else None
    return kind if isinstance(kind, str) else "file"


def _content(attachment: Any) -> Any:
    """Return what makes an attachment differ from others: not its ids, which always do."""
    return attachment.get("url") if isinstance(attachment, dict) and "url" in attachment else attachment


NAME: Final = "opencode"

_STORED: Final = "a file of OpenCode's storage: run `opencode export SESSION > FILE`, and give that file"
_ABORTED: Final = "MessageAbortedError"


class OpenCode(DocumentAdapter):
    """Reads exported sessions."""

    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield what the sessions say, one after the other."""
        for part in parts:
            for value in part.value if isinstance(part.value, list) and part.value else [part.value]:
                match value:
                    case {"info": {"id": str(session_id)}, "messages": list(messages)} if session_id:
                        yield from Exported(session_id, value["info"], self.ignored).read(messages)
                    case _:
                        stored = isinstance(value, dict) and _is_stored(value)
                        yield self.unknown(self.name, _STORED if stored else "no exported session")


class Exported:
    """Reads the messages of one session in their order."""

    def __init__(self, session_id: str, info: dict[str, Any], ignored: Counter[str]) -> None:
        parent = text_or_none(info.get("parentID"))
        self._talk = Conversation(session_id[:LONGEST_NAME], NAME, NAME if parent is None else "subagent")
        self._talk.parent_session_id = parent
        self._talk.version = text_or_none(info.get("version"))
        self._ignored = ignored
        self._at = _time(info.get("time"), "created") or EPOCH_MS
        self._known: set[str] = set()
        self._interrupted = False  # whether a call of this message says so

    def read(self, messages: list[Any]) -> Found:
        """Yield what the messages say."""
        for message in messages:
            match message:
                case {"info": {"role": "user"}, "parts": list(parts)}:
                    self._at = _time(message["info"].get("time"), "created") or self._at
                    self._user(parts)
                case {"info": {"role": "assistant"}, "parts": list(parts)}:
                    self._at = _time(message["info"].get("time"), "created") or self._at
                    yield from self._assistant(message["info"], parts)
                case _:
                    yield self._unknown("a message without info, role or parts")
        yield from self._talk.unanswered()

    def _unknown(self, detail: str) -> Problem:
        return Problem(self._talk.session_id, IntakeReason.UNKNOWN_SHAPE, detail[:200])

    def _user(self, parts: list[Any]) -> None:
        for part in parts:
            match part:
                case {"type": "text", "text": str(text)} if not _is_written_by_program(part):
                    self._talk.ask(text, is_person=self._talk.parent_session_id is None)
                case {"type": "compaction"}:
                    self._talk.change_context(ContextChange.COMPACTED)
                case {"type": str(kind)}:
                    self._ignored[f"part {kind} of the user"[:60]] += 1
                case _:
                    self._ignored["a part without a type"] += 1

    def _assistant(self, info: dict[str, Any], parts: list[Any]) -> Found:
        message_id = text_or_none(info.get("id")) or f"{self._talk.session_id}/{self._at}"
        if self._talk.agent_type == "subagent":
            self._talk.agent_type = (
                text_or_none(info.get("agent")) or text_or_none(info.get("mode")) or "subagent"
            )
        self._spend(info)
        if info.get("summary") is True:
            self._talk.change_context(ContextChange.COMPACTED)
            self._ignored["a summary of what was before"] += 1
            return
        called, steps = False, 0
        self._interrupted = False
        for part in parts:
            match part:
                case {"type": "tool", "tool": str(tool), "state": dict(state)}:
                    called = True
                    round_id = message_id if steps < 2 else f"{message_id}/{steps}"
                    yield from self._tool(part, tool, state, round_id)
                case {"type": "text", "text": str(text)}:
                    if not _is_written_by_program(part):
                        self._talk.say(text)
                case {"type": "step-start"}:
                    steps += 1
                case {"type": str(kind)} if kind not in ("tool", "text"):
                    self._ignored[f"part {kind}"[:60]] += 1
                case _:
                    yield self._unknown("a part of unknown shape")
        yield from self._end(info, message_id, called)

    def _end(self, info: dict[str, Any], message_id: str, called: bool) -> Found:
        """End the turn, if the message ends it: by words alone, or by an error."""
        at = _time(info.get("time"), "completed") or self._at
        error = info.get("error")
        if not called or error is not None:
            yield from self._talk.finish(message_id, at, "success" if error is None else "failure")
        if isinstance(error, dict):
            name = str(error.get("name"))
            self._ignored[f"error {name}"[:60]] += 1
            if name == _ABORTED and not self._interrupted:
                self._talk.person(UserTurn.INTERRUPTION)

    def _spend(self, info: dict[str, Any]) -> None:
        tokens = info.get("tokens")
        if isinstance(tokens, dict):
            self._talk.spend(*_tokens(tokens))
        cost = number(info.get("cost"))
        if cost is not None and cost >= 0:
            self._talk.cost = round((self._talk.cost or 0.0) + cost, 9)

    def _tool(self, part: dict[str, Any], tool: str, state: dict[str, Any], round_id: str) -> Found:
        call_id, part_id = text_or_none(part.get("callID")), text_or_none(part.get("id"))
        if call_id is None or call_id in self._known:  # some models count their calls from 0 in each message
            call_id = part_id or f"{round_id}/{len(self._known)}"
        self._known.add(call_id)
        begun = _time(state.get("time"), "start")
        self._at = _time(state.get("time"), "end") or begun or self._at
        yield from self._talk.call(call_id, tool, state.get("input"), at=begun or self._at, round_id=round_id)
        given, call = state.get("input"), self._talk.calls.get(call_id)
        if call is not None and not call.target and isinstance(given, dict):
            call.target = (text_or_none(given.get("filePath")) or "")[:LONGEST_TEXT]
        found = ended(tool, state)
        if found is not None and call_id in self._talk.calls:
            output, status, turn = found
            self._interrupted = self._interrupted or turn is UserTurn.INTERRUPTION
            yield from self._talk.answer(call_id, output, self._at, status, user_turn=turn)


def _tokens(tokens: dict[str, Any]) -> tuple[int | None, None, int | None]:
    """Return the tokens that were billed in full and, last, those from a cache: ``input`` has none of these.

    ``output`` has those of ``reasoning`` in it.
    """
    cache = tokens.get("cache")
    cache = cache if isinstance(cache, dict) else {}
    given = (tokens.get("input"), tokens.get("output"), cache.get("write"))
    billed = [count for each in given if (count := whole(each)) is not None]
    return (sum(billed) if billed else None), None, whole(cache.get("read")) or None


def _is_written_by_program(part: dict[str, Any]) -> bool:
    return part.get("synthetic") is True or part.get("ignored") is True


def _time(times: Any, name: str) -> int | None:
    return milliseconds(times.get(name)) if isinstance(times, dict) else None


def _is_stored(value: dict[str, Any]) -> bool:
    match value:
        case {"id": str(name), "projectID": str()} if name.startswith("ses_"):
            return True
        case {"id": str(name), "sessionID": str()} if name.startswith(("msg_", "prt_")):
            return True
        case _:
            return False


def sniff(head: bytes, _name: str) -> int:
    """Recognise an export by the session and the messages, or a file of the storage by its ids."""
    for value in head_values(head)[:1]:
        first = value[0] if isinstance(value, list) and value else value
        match first:
            case {"info": {"id": str(), "time": dict()}, "messages": list()}:
                return CERTAIN
            case {"info": {"id": str(name)}} if name.startswith("ses_"):
                return CERTAIN
            case dict() if _is_stored(first):
                return CERTAIN
            case _:
                continue
    return NO


FORMAT: Final = Format(NAME, UnitKind.DOCUMENT, sniff, OpenCode, OpenCode.resume)
