"""The calls that a model asks for, and results of tools without what LangChain puts around them.

The result of a tool, taken out of what LangChain puts around it. What is around it holds the id of the call,
which differs each time: two equal results would differ by it.

The ids of calls: those that a model's answer asks for, and the one that a tool's message answers. By them a
call in a trace finds the model that asked for it, whatever stands between the two.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any, Final, NamedTuple

from streams.formats.adapters.record import LONGEST_NAME, block_text, json_text, json_value, text_or_none

_MOST_LOOKED_AT: Final = 5_000
_MOST_CALLS: Final = 200
_DEEPEST_MESSAGE: Final = 6
_CALL_TYPES: Final = frozenset({"tool_call", "tool_use", "function", "function_call"})


def asked_calls(answer: Any) -> list[str]:
    """Return the ids of the calls that an answer asks for, wherever the message stands in it.

    >>> asked_calls({"generations": [[{"message": {"kwargs": {"tool_calls": [{"id": "c1", "name": "f"}]}}}]]})
    ['c1']
    >>> asked_calls({"content": [{"type": "tool_use", "id": "t1", "input": {"id": "x"}}]}), asked_calls("no")
    (['t1'], [])
    """
    found: dict[str, None] = {}
    waiting: deque[Any] = deque([answer])
    for _ in range(_MOST_LOOKED_AT):
        if not waiting or len(found) >= _MOST_CALLS:
            break
        value = waiting.popleft()
        room = _MOST_LOOKED_AT - len(waiting)
        if isinstance(value, list):
            waiting.extend(value[: max(0, room)])
        elif isinstance(value, dict):
            call_id = _call_id(value)
            if call_id is not None:
                found[call_id] = None
                continue  # what is in a call are its arguments
            calls = value.get("tool_calls")
            ids = [_id(each) for each in calls[:_MOST_CALLS]] if isinstance(calls, list) else []
            found.update(dict.fromkeys(each for each in ids if each is not None))
            others = [each for key, each in value.items() if key != "tool_calls"]
            waiting.extend(others[: max(0, room)])
    return list(found)


def answered_call(result: Any) -> str | None:
    """Return the id of the call that a tool's message answers, None if no message is around its result.

    >>> answered_call({"output": {"type": "tool", "content": "a", "tool_call_id": "c1"}}), answered_call("a")
    ('c1', None)
    """
    for _ in range(_DEEPEST_MESSAGE):
        match result:
            case {"content": _, "tool_call_id": str(call_id)}:
                return _short(call_id)
            case {"lc": _, "kwargs": inner} | {"type": "tool", "data": inner}:
                result = inner
            case {"output": inner} if result.keys() <= {"output", "kwargs"}:
                result = inner
            case {"update": {"messages": [*_, inner]}} | [inner]:
                result = inner
            case _:
                return None
    return None


def _call_id(value: dict[str, Any]) -> str | None:
    return _id(value) if str(value.get("type")) in _CALL_TYPES else None


def _id(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    return _short(value.get("call_id")) or _short(value.get("id"))


def _short(value: Any) -> str | None:
    text = text_or_none(value)
    return text if text is not None and len(text) <= LONGEST_NAME else None


_DEEPEST: Final = 6
_CONTENT: Final = re.compile(r"""content=(?P<quote>['"])(?P<text>.*?)(?P=quote)(?= [a-z_]+=)""", re.DOTALL)
_CALL_ID: Final = re.compile(r""" tool_call_id=['"]""")


class ToolAnswer(NamedTuple):
    """A result as text; ``failed`` if the message around it says so."""

    text: str | None
    failed: bool = False


def tool_answer(value: Any, depth: int = 0) -> ToolAnswer:
    """Return the result that a value holds: a tool message in any of its forms, blocks, text, or JSON.

    >>> tool_answer({"type": "tool", "content": "no match", "tool_call_id": "call_1", "status": "success"})
    ToolAnswer(text='no match', failed=False)
    >>> tool_answer({"lc": 1, "kwargs": {"content": "boom", "tool_call_id": "call_1", "status": "error"}})
    ToolAnswer(text='boom', failed=True)
    >>> tool_answer("content='no match' name='search' tool_call_id='call_1'").text
    'no match'
    >>> tool_answer({"rows": 3}).text
    '{"rows":3}'
    """
    if depth > _DEEPEST:
        return ToolAnswer(json_text(value))
    match value:
        case None:
            return ToolAnswer(None)
        case str():
            return _from_text(value, depth)
        case {"lc": _, "kwargs": dict(inner)} | {"type": "tool", "data": dict(inner)}:
            return tool_answer(inner | {"type": "tool"}, depth + 1)
        case {"content": content} if "tool_call_id" in value or value.get("type") == "tool":
            return ToolAnswer(block_text(content), value.get("status") == "error")
        case {"update": {"messages": list(messages)}} if messages:
            return tool_answer(messages[-1], depth + 1)
        case {"output": output} if value.keys() <= {"output", "kwargs"}:
            return tool_answer(output, depth + 1)
        case [dict() as only] if _is_message(only):
            return tool_answer(only, depth + 1)
        case [{"text": str()}, *_]:
            return ToolAnswer(block_text(value))
        case _:
            return ToolAnswer(json_text(value))


def _is_message(value: dict[str, Any]) -> bool:
    return "lc" in value or "tool_call_id" in value


def _from_text(text: str, depth: int) -> ToolAnswer:
    """Return the result that a text is: JSON of a message or of a text, a message as Python shows it."""
    if text.startswith("content=") and _CALL_ID.search(text):
        shown = _CONTENT.match(text)
        if shown is not None:
            failed = " status='error'" in text[shown.end() :]
            return ToolAnswer(shown["text"].replace("\\n", "\n").replace("\\'", "'"), failed)
    held = json_value(text)
    if isinstance(held, str) or (
        isinstance(held, dict) and (_is_message(held) or held.get("type") == "tool")
    ):
        return ToolAnswer(held) if isinstance(held, str) else tool_answer(held, depth + 1)
    return ToolAnswer(text)
