"""The messages of a session of Cline, Roo Code or Kilo Code, whichever file they stand in.

Blocks are those of Anthropic's interface, or the calls and their results stand in the texts as XML. A message
may have a time, the tokens and the cost.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final, NamedTuple

from streams.formats.adapters.adapter import IntakeReason, Problem
from streams.formats.adapters.cline_xml import header, written_calls
from streams.formats.adapters.conversation import EPOCH_MS, ContextChange, Conversation, UserTurn
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import (
    block_text,
    canonical_text,
    json_value,
    milliseconds,
    number,
    text_or_none,
    whole,
    words_text,
)

_LOOKED_AT: Final = 600
_REFUSED: Final = re.compile(
    r"\s*(?:The user denied this operation|Skipping tool due to user rejecting a previous tool"
    r"|Skipping .{1,80}? due to user rejecting a previous tool)"
)
_NOT_TRIED: Final = re.compile(r"\s*(?:\[ERROR\] )?Tool \[[^\]\n]{1,80}\] was not executed because")
_INTERRUPTED: Final = re.compile(
    r"\s*(?:Task was interrupted before this tool call could be completed|Command was interrupted by the user"
    r"|\[Request interrupted by user)"
)
_FAILED: Final = re.compile(
    r"\s*(?:The tool execution failed with the following error:|\[ERROR\]|Error executing \w+:"
    r"|Command failed with exit code|Command executed[^\n]*Command execution was not successful)"
)
_EXIT_CODE: Final = re.compile(r"^Exit code: ?(-?\d{1,10})$", re.MULTILINE)


class Ending(NamedTuple):
    """The result of a call as text, its status, and what a person did to it."""

    output: str | None
    status: str
    turn: UserTurn | None = None


def ending(content: Any, is_error: object = None) -> Ending:
    """Return how a call ended whose result this is.

    >>> ending([{"query": "a.py", "result": "x = 1", "success": True}])
    Ending(output='x = 1', status='success', turn=None)
    >>> ending("The user denied this operation.").status
    'skipped'
    """
    output, failed = _text(content)
    held = json_value(output)
    said = held.get("status") if isinstance(held, dict) else None
    head = (output or "")[:_LOOKED_AT]
    if said == "denied" or _REFUSED.match(head):
        return Ending(output, "skipped", UserTurn.REFUSAL)
    if _INTERRUPTED.match(head):
        return Ending(output, "skipped", UserTurn.INTERRUPTION)
    if _NOT_TRIED.match(head):
        return Ending(output, "skipped")
    if failed or is_error is True or said == "error" or _FAILED.match(head) or _exit_code(head):
        return Ending(output, "failure")
    return Ending(output, "success")


def _exit_code(head: str) -> bool:
    found = _EXIT_CODE.search(head) if head.startswith("Command ") else None
    return found is not None and int(found[1]) != 0


def _text(content: Any) -> tuple[str | None, bool]:
    """Return the text of a result, and whether one of its objects says that it failed."""
    if not isinstance(content, list) or not content or not all(_is_object(each) for each in content):
        return block_text(content), False
    parts, failed = [], False
    for each in content:
        shown = each.get("result")
        if each.get("success") is False:
            failed = True
            shown = each.get("error") or shown
        if shown is not None:
            parts.append(shown if isinstance(shown, str) else block_text(shown) or canonical_text(shown))
    return ("\n".join(parts) if parts else canonical_text(content)), failed


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and "query" in value and ("result" in value or "success" in value)


_MOST_WAITING: Final = 1_000
_COMPLETION: Final = "attempt_completion"
_TIME: Final = re.compile(r"Current time in ISO 8601 UTC format: (\S{10,40})")
_DETAILS: Final = "<environment_details>"
_RESUMED: Final = ("[TASK RESUMPTION]", "[PLAN MODE] This task was interrupted")
_NOT_ASKED: Final = ("[ERROR]", "[TASK RESUMPTION]", "[PLAN MODE]", "# task_progress", "New instructions:")
_SAID: Final = re.compile(
    r"<(?P<tag>user_message|feedback|answer)>(?P<words>.*?)(?:</(?P=tag)>|\Z)", re.DOTALL
)


class ClineHistory:
    """Reads the messages of one session in their order."""

    def __init__(self, conversation: Conversation, ignored: Counter[str]) -> None:
        self._talk = conversation
        self._ignored = ignored
        self._at = EPOCH_MS
        self._has_times = False
        self._waiting: list[tuple[str, str]] = []  # ids and names of calls that stand in a text
        self._completions: set[str] = set()

    def read(self, messages: list[Any]) -> Found:
        """Yield what the messages say."""
        for index, message in enumerate(messages):
            match message:
                case {"role": "user" | "assistant" as role}:
                    self._tick(message, role, index)
                    following = messages[index + 1] if index + 1 < len(messages) else None
                    if role == "user":
                        yield from self._user(message)
                    else:
                        yield from self._assistant(message, index, following)
                case {"role": "system"} | {"role": "developer"}:
                    self._ignored["instructions"] += 1
                case {"type": str(kind)} if "role" not in message:
                    self._ignored[f"item {kind}"[:60]] += 1
                case _:
                    yield self._unknown(f"message {index} of no known role")
        yield from self._talk.conclude()
        yield from self._talk.unanswered()

    def _tick(self, message: dict[str, Any], role: str, index: int) -> None:
        found = _time(message, role)
        if found is not None:
            self._at, self._has_times = found, True
        elif not self._has_times:
            self._at = EPOCH_MS + 1000 * index

    def _unknown(self, detail: str) -> Problem:
        return Problem(self._talk.session_id, IntakeReason.UNKNOWN_SHAPE, detail[:200])

    def _assistant(self, message: dict[str, Any], index: int, following: Any) -> Found:
        round_id = text_or_none(message.get("id")) or f"{self._talk.session_id}/{index}"
        self._spend(message)
        self._waiting.clear()
        answered = _answered(following)
        called = completed = False
        for position, block in enumerate(_blocks(message)):
            match block:
                case {"type": "text", "text": str(text)}:
                    calls, rest = written_calls(text, answered)
                    for order, each in enumerate(calls):
                        self._talk.say(each.words)
                        call_id = f"{round_id}/{position}/{order}"
                        if len(self._waiting) < _MOST_WAITING:
                            self._waiting.append((call_id, each.name))
                        yield from self._call(call_id, each.name, each.arguments, round_id)
                    called = called or bool(calls)
                    completed = completed or any(each.name == _COMPLETION for each in calls)
                    self._talk.say(rest)
                case {"type": str(kind), "id": str(call_id), "name": str(name)} if kind.endswith("tool_use"):
                    called = True
                    completed = completed or name == _COMPLETION
                    yield from self._call(call_id, name, block.get("input"), round_id)
                case {"type": str(kind)} if not kind.endswith("tool_use") and kind != "text":
                    self._ignored[f"block {kind}"[:60]] += 1
                case _:
                    yield self._unknown(f"a block of unknown shape in message {index}")
        goes_on = isinstance(following, dict) and following.get("role") == "assistant"
        if completed or (not called and not goes_on):
            yield from self._talk.finish(round_id, self._at)

    def _call(self, call_id: str, name: str, arguments: Any, round_id: str) -> Found:
        if name != _COMPLETION:
            yield from self._talk.call(call_id, name, arguments, at=self._at, round_id=round_id)
            return
        self._completions.add(call_id)
        self._talk.say(text_or_none(arguments.get("result") if isinstance(arguments, dict) else arguments))

    def _spend(self, message: dict[str, Any]) -> None:
        metrics = message.get("metrics")
        if not isinstance(metrics, dict):
            return
        counts = metrics.get("tokens")
        counts = counts if isinstance(counts, dict) else metrics
        names = ("inputTokens", "outputTokens", "cacheWriteTokens", "prompt", "completion")
        billed = [count for name in names if (count := whole(counts.get(name))) is not None]
        cached = whole(counts.get("cacheReadTokens"))
        cached = whole(counts.get("cached")) if cached is None else cached
        self._talk.spend(sum(billed) if billed else None, cached=cached or None)
        cost = number(metrics.get("cost"))
        if cost is not None and cost >= 0:
            self._talk.cost = round((self._talk.cost or 0.0) + cost, 9)

    def _user(self, message: dict[str, Any]) -> Found:
        if message.get("isSummary") is True:
            self._talk.change_context(ContextChange.COMPACTED)
            self._ignored["a summary of what was before"] += 1
            return
        answer: tuple[str, list[Any]] | None = None  # the call whose result the texts hold
        for block in _blocks(message):
            match block:
                case {"type": "text", "text": str(text)}:
                    found = header(text)
                    if found is not None:
                        yield from self._answered_in_text(answer)
                        name, rest = found
                        answer = (name, [{"type": "text", "text": rest}] if rest else [])
                    elif answer is None or _is_apart(text):
                        yield from self._answered_in_text(answer)
                        answer = None
                        self._ask(text)
                    else:
                        answer[1].append(block)
                case {"type": str(kind), "tool_use_id": str(call_id)} if kind.endswith("tool_result"):
                    yield from self._answered(call_id, block.get("content"), block.get("is_error"))
                case {"type": str(kind)} if kind != "text" and not kind.endswith("tool_result"):
                    if answer is not None:
                        answer[1].append(block)
                    else:
                        self._ignored[f"block {kind}"[:60]] += 1
                case _:
                    yield self._unknown("a block of unknown shape in a user's message")
        yield from self._answered_in_text(answer)

    def _answered_in_text(self, answer: tuple[str, list[Any]] | None) -> Found:
        if answer is None:
            return
        name, blocks = answer
        place = next((n for n, (_, each) in enumerate(self._waiting) if each == name), None)
        if place is None:
            yield Problem(self._talk.session_id, IntakeReason.ORPHAN_RESULT, f"no call of {name[:80]}")
            return
        call_id, _ = self._waiting.pop(place)
        content = "\n".join(_without_details(block_text([each]) or "") for each in blocks)
        yield from self._answered(call_id, content, None)

    def _answered(self, call_id: str, content: Any, is_error: object) -> Found:
        if call_id in self._completions:
            self._completions.discard(call_id)
            self._talk.ask(_said(words_text(content) or ""))
            return
        if isinstance(content, str):
            content = _without_details(content)
        output, status, turn = ending(content, is_error)
        yield from self._talk.answer(call_id, output, self._at, status, user_turn=turn)

    def _ask(self, text: str) -> None:
        """Take what stands in a user's place: what a person wrote may stand within words of the program."""
        head = text.lstrip()
        if head.startswith(_RESUMED):
            self._talk.change_context(ContextChange.RESUMED)
        if head.startswith(_NOT_ASKED):
            self._talk.ask(_said(text))
        else:
            self._talk.ask(text)


def _said(text: str) -> str | None:
    """Return what a person wrote within words of the program."""
    found = _SAID.search(text)
    return None if found is None else found["words"]


def _blocks(message: dict[str, Any]) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _answered(following: Any) -> list[str]:
    """Return the tools whose results stand as texts in the next message."""
    if not isinstance(following, dict) or following.get("role") != "user":
        return []
    texts = [each.get("text") for each in _blocks(following) if isinstance(each, dict)]
    found = [header(text) for text in texts if isinstance(text, str)]
    return [each[0] for each in found if each is not None]


def _is_apart(text: str) -> bool:
    """Tell whether a text that follows a result is none of it."""
    return text.lstrip().startswith((_DETAILS, "<task>", "<user_message>", "<feedback>", *_NOT_ASKED))


def _without_details(text: str) -> str:
    """Cut the state of the editor off, which differs each time."""
    return text.partition(_DETAILS)[0].rstrip("\n") if _DETAILS in text[-200_000:] else text


def _time(message: dict[str, Any], role: str) -> int | None:
    found = milliseconds(message.get("ts"))
    if found is not None or role != "user":
        return found
    for block in reversed(_blocks(message)[-3:]):
        text = block.get("text") if isinstance(block, dict) else None
        named = _TIME.search(text[-100_000:]) if isinstance(text, str) else None
        if named is not None:
            return milliseconds(named[1])
    return None
