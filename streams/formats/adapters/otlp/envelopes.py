"""What instrumentations put around arguments and results. It holds ids that differ in each call."""

from __future__ import annotations

from typing import Any, Final

from streams.formats.adapters.record import json_value
from streams.formats.adapters.tool_answer import ToolAnswer, tool_answer

_AROUND_ARGUMENTS: Final = frozenset({"input_str", "tags", "metadata", "inputs", "kwargs"})


def opened_arguments(value: Any) -> Any:
    r"""Return the arguments of a call without what LangChain puts around them.

    >>> opened_arguments('{"input_str": "x", "tags": [], "metadata": {}, "inputs": {"q": "x"}}')
    {'q': 'x'}
    >>> opened_arguments('{"q": "x"}'), opened_arguments('"ls -l"')
    ('{"q": "x"}', 'ls -l')
    """
    match json_value(value):
        case {"input_str": given, **rest} if rest.keys() <= _AROUND_ARGUMENTS:
            inputs = rest.get("inputs")
            return given if inputs is None else inputs
        case str(text):
            return text
        case _:
            return value


def opened_result(value: Any) -> ToolAnswer:
    """Return the result of a call without the message, the blocks or the JSON text around it.

    >>> opened_result('[{"text": "no match"}]').text, opened_result('"no match"').text
    ('no match', 'no match')
    >>> opened_result(
    ...     '{"output": {"lc": 1, "kwargs": {"content": "a", "tool_call_id": "c"}}, "kwargs": {}}'
    ... ).text
    'a'
    """
    match json_value(value):
        case {"output": dict() as output, **rest} if rest.keys() <= {"kwargs"} and (rest or "lc" in output):
            return tool_answer(output)
        case {"output": output, "kwargs": _} as held if len(held) == 2:
            return opened_result(output)
        case [{"text": str()}, *_] | [{"lc": _}] | [{"type": "tool"}] as held:
            return tool_answer(held)
        case _:
            return tool_answer(value)
