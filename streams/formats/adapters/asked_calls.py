"""The ids of calls: those that a model's answer asks for, and the one that a tool's message answers.

By them a call in a trace finds the model that asked for it, whatever stands between the two.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from streams.formats.adapters.record import LONGEST_NAME, text_or_none

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
