"""Calls that stand as XML in the words of the assistant, and their results in the words of the next message.

Cline, Roo Code and Kilo Code wrote them so before models called tools natively.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final, NamedTuple

_MOST_TAGS: Final = 50
"""Tags of one text that are looked for; a text that has more is hostile."""

_TAG: Final = re.compile(r"<([A-Za-z_][\w-]{0,63})>")
_TOOL: Final = re.compile(r"^[ \t]*<([a-z_][a-z0-9_]{2,63})>(?=\s*(?:<|\Z))", re.MULTILINE)
_HEADER: Final = re.compile(r"\[(?P<name>[a-z_][a-z0-9_]{2,63})(?: [^\n]{0,2000})?\] Result:[ \t]*\n*")
_NO_TOOLS: Final = frozenset(
    {"thinking", "environment_details", "task", "feedback", "answer", "user_message", "args", "result"}
)
_TOOLS: Final = frozenset(
    {
        "execute_command",
        "read_file",
        "write_to_file",
        "replace_in_file",
        "apply_diff",
        "edit_file",
        "insert_content",
        "search_files",
        "search_and_replace",
        "list_files",
        "list_code_definition_names",
        "codebase_search",
        "browser_action",
        "use_mcp_tool",
        "access_mcp_resource",
        "ask_followup_question",
        "attempt_completion",
        "plan_mode_respond",
        "new_task",
        "switch_mode",
        "update_todo_list",
        "fetch_instructions",
        "web_fetch",
        "condense",
        "new_rule",
    }
)


class WrittenCall(NamedTuple):
    """A call as text has it: its name, its arguments, and the words before it."""

    name: str
    arguments: Any
    words: str


def written_calls(text: str, answered: Collection[str]) -> tuple[list[WrittenCall], str]:
    r"""Return the calls in a text, and the words after the last one.

    Args:
        text: what the assistant wrote.
        answered: The tools whose results stand in the next message.

    >>> written_calls("I look.\n<read_file>\n<path>a.py</path>\n</read_file>", ["read_file"])
    ([WrittenCall(name='read_file', arguments={'path': 'a.py'}, words='I look.\n')], '')
    """
    found: list[WrittenCall] = []
    begin = position = 0
    for _ in range(_MOST_TAGS):
        tag = _TOOL.search(text, position)
        if tag is None:
            break
        name, position = tag[1], tag.end()
        if name in _NO_TOOLS or (name not in answered and name not in _TOOLS):
            continue
        closing = f"</{name}>"
        # What a file holds may look like the end of the call: that of an only call is the last one.
        end = text.rfind(closing, position) if len(answered) < 2 else text.find(closing, position)
        end = len(text) if end < 0 else end
        found.append(WrittenCall(name, _arguments(text[position:end]), text[begin : tag.start()]))
        begin = position = min(len(text), end + len(closing))
    return found, text[begin:].strip()


def _arguments(body: str) -> Any:
    arguments: dict[str, str] = {}
    position = 0
    for _ in range(_MOST_TAGS):
        tag = _TAG.search(body, position)
        if tag is None:
            break
        end = body.rfind(f"</{tag[1]}>", tag.end())
        if end < 0:
            position = tag.end()
            continue
        arguments[tag[1]] = body[tag.end() : end].removeprefix("\n").removesuffix("\n")
        position = end + len(tag[1]) + 3
    return arguments or body.strip()


def header(text: str) -> tuple[str, str] | None:
    r"""Return the tool whose result begins with this text, and what follows; None if none does.

    >>> header("[read_file for 'a.py'] Result:\n\nx = 1"), header("[1] Result: ok")
    (('read_file', 'x = 1'), None)
    """
    found = _HEADER.match(text)
    return None if found is None else (found["name"], text[found.end() :])
