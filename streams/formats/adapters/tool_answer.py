"""The result of a tool, taken out of what LangChain puts around it.

What is around it holds the id of the call, which differs each time: two equal results would differ by it.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from streams.formats.adapters.record import block_text, json_text, json_value

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
