"""Trajectories of mini-swe-agent, ``*.traj.json``: the messages of its model, with results in ``extra``.

Its session is the name of the file. Models are asked through the chat interface, through the responses
interface, or, as version 1 did, by text: one block of shell in the answer, and its output in the next message
of the user. The last message, of the role ``exit``, ends the session; version 1 says so in ``info``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import EPOCH_MS, Conversation
from streams.formats.adapters.document import DocumentAdapter, DocumentValue, session_of
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import block_text, milliseconds, number, text_or_none, whole
from streams.formats.adapters.shell_output import mini_output

NAME: Final = "mini-swe-agent"
_TOOL: Final = "bash"
_NOT_EXECUTED: Final = "action was not executed"
_SHORTEST: Final = 3  # the instructions and the task come first
_FINISHED: Final = "Submitted"
_ACTION: Final = re.compile(r"```(?:bash|sh|mswea_bash_command)[ \t]*\n(.*?)\n?```", re.DOTALL)


class End(NamedTuple):
    """How a session ended: the name of the reason, and the text beside it."""

    status: str
    content: str | None


class MiniSweAgent(DocumentAdapter):
    """Reads one trajectory."""

    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield what one trajectory says."""
        for part in parts:
            value = part.value
            if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
                yield self.unknown(self.name, "no trajectory: no messages")
                continue
            info = value.get("info")
            info = info if isinstance(info, dict) else {}
            session_id = session_of(self.name) + ("" if part.number is None else f"/{part.number}")
            version = text_or_none(info.get("mini_version"))
            conversation = Conversation(session_id, NAME, NAME, version)
            messages, end = _parted(value["messages"], info)
            for index, message in enumerate(messages):
                yield from self._message(conversation, message, index)
            if end is not None:
                yield from _exit(conversation, end, EPOCH_MS + 1000 * len(value["messages"]))
            yield from conversation.unanswered()

    def _message(self, conversation: Conversation, message: Any, index: int) -> Found:
        if not isinstance(message, dict):
            yield self.unknown(conversation.session_id, f"message {index} is not an object")
            return
        extra = _extra(message)
        at = milliseconds(extra.get("timestamp"))
        at = EPOCH_MS + 1000 * (index + 1) if at is None else at
        _spend(conversation, message, extra)
        role = message.get("role")
        if message.get("object") == "response" or role == "assistant":
            yield from self._turn(conversation, message, index, at)
        elif role in ("tool", "user") or message.get("type") == "function_call_output":
            yield from _result(conversation, message, extra, at)
        elif role != "system":
            yield self.unknown(conversation.session_id, f"message {index} of no known role")

    def _turn(self, conversation: Conversation, message: dict[str, Any], index: int, at: int) -> Found:
        output = message.get("output")
        items = output if isinstance(output, list) else [message]
        calls: list[tuple[str, str, Any]] = []
        texts: list[str] = []
        for item in items:
            match item:
                case {"type": "function_call", "call_id": str(call_id), "name": str(name)}:
                    calls.append((call_id, name, item.get("arguments")))
                case {"role": "assistant"}:
                    texts.append(block_text(item.get("content")) or "")
                    calls.extend(_calls(item.get("tool_calls")))
                case {"type": "reasoning"}:
                    pass
                case _:
                    yield self.unknown(
                        conversation.session_id, f"an item of no known type in message {index}"
                    )
        words = "\n".join(texts)
        if not calls and (command := _command(message, words)) is not None:
            words = _ACTION.sub("", words)
            calls.append((f"{conversation.session_id}/{index}", _TOOL, {"command": command}))
        conversation.say(words)
        for call_id, name, arguments in calls:
            round_id = f"{conversation.session_id}/{index}"
            yield from conversation.call(call_id, name, arguments, at=at, round_id=round_id)
        if not calls:
            yield from conversation.finish(f"{conversation.session_id}/{index}", at)


def sniff(head: bytes, _name: str) -> int:
    """Recognise a trajectory by the name of its format, or by what stands before it in a long one."""
    for value in head_values(head):
        if not isinstance(value, dict):
            continue
        if str(value.get("trajectory_format")).startswith(NAME):
            return CERTAIN
        info = value.get("info")
        if isinstance(info, dict) and "mini_version" in info:
            return CERTAIN
    return NO


def _parted(messages: list[Any], info: dict[str, Any]) -> tuple[list[Any], End | None]:
    """Return the messages, and apart from them how the session ended; None if it runs or was killed."""
    last = messages[-1] if messages and isinstance(messages[-1], dict) else {}
    extra, content = _extra(last), block_text(last.get("content"))
    if last.get("role") == "exit":
        status = text_or_none(extra.get("exit_status")) or text_or_none(info.get("exit_status"))
        return messages[:-1], End(status or content or "exit", content)
    status = text_or_none(info.get("exit_status"))
    if status is None:
        return messages, None
    observed = "returncode" in extra or mini_output(content or "").exit_code is not None
    if last.get("role") != "user" or observed or len(messages) < _SHORTEST:
        return messages, End(status, None)
    return messages[:-1], End(status, content)  # version 1 writes the end in the name of the user


def _exit(conversation: Conversation, end: End, at: int) -> Found:
    if end.status == _FINISHED:
        # The command that hands in the work: the agent ends before it notes the result.
        for call_id, call in list(conversation.calls.items())[:1]:
            yield from conversation.answer(call_id, end.content, at if call.at is None else call.at)
        error = None
    else:
        error = end.content or end.status
    yield conversation.end(at, event_id=f"{conversation.session_id}/exit", error=error)


def _extra(message: dict[str, Any]) -> dict[str, Any]:
    extra = message.get("extra")
    return extra if isinstance(extra, dict) else {}


def _calls(calls: Any) -> Iterator[tuple[str, str, Any]]:
    for call in calls if isinstance(calls, list) else ():
        match call:
            case {"id": str(call_id), "function": {"name": str(name)} as function}:
                yield call_id, name, function.get("arguments")
            case _:
                pass


def _command(message: dict[str, Any], words: str) -> str | None:
    """Return the command of an answer in text: the one block in it. The agent refuses answers with more."""
    match _extra(message).get("actions"):
        case [{"command": str(command)}]:
            return command
        case _:
            found = _ACTION.findall(words)
            return found[0].strip() if len(found) == 1 else None


def _result(conversation: Conversation, message: dict[str, Any], extra: dict[str, Any], at: int) -> Found:
    content = block_text(message.get("content", message.get("output")))
    code, output = extra.get("returncode"), text_or_none(extra.get("raw_output"))
    if not isinstance(code, int) and "raw_output" not in extra and content is not None:
        output, code = mini_output(content)
    if output is None:
        output = text_or_none(extra.get("exception_info")) or ("" if "raw_output" in extra else content)
    status = "failure" if code else "success"
    if extra.get("exception_info") == _NOT_EXECUTED:
        status = "skipped"
    call_id = message.get("tool_call_id") or message.get("call_id")
    if isinstance(call_id, str):
        yield from conversation.answer(call_id, output, at, status)
    elif (asked := _asked_in_text(conversation)) is not None:
        # After a call in text the user's message is its output. Without a code it says what went wrong.
        yield from conversation.answer(asked, output, at, "failure" if code is None else status)


def _asked_in_text(conversation: Conversation) -> str | None:
    ids = (call_id for call_id in conversation.calls if call_id.startswith(f"{conversation.session_id}/"))
    return next(ids, None)


def _spend(conversation: Conversation, message: dict[str, Any], extra: dict[str, Any]) -> None:
    response = extra.get("response")
    holders = (response if isinstance(response, dict) else {}, message)
    usage: dict[str, Any] = next(
        (each["usage"] for each in holders if isinstance(each.get("usage"), dict)), {}
    )
    names = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    counts = [count for pair in names if (count := _first_count(usage, pair)) is not None]
    details = (usage.get(name) for name in ("prompt_tokens_details", "input_tokens_details"))
    cached = next((whole(each.get("cached_tokens")) for each in details if isinstance(each, dict)), None)
    # What was read from a cache is part of the prompt.
    conversation.spend(max(0, sum(counts) - (cached or 0)) if counts else None, cached=cached or None)
    cost = number(extra.get("cost"))
    if cost:
        conversation.cost = (conversation.cost or 0.0) + cost


def _first_count(usage: dict[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := whole(usage.get(name))) is not None), None)


FORMAT: Final = Format(NAME, UnitKind.DOCUMENT, sniff, MiniSweAgent, MiniSweAgent.resume)
