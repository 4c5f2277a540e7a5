"""How a call of Cline, Roo Code or Kilo Code ended, by the words that these programs write."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from streams.formats.adapters.conversation import UserTurn
from streams.formats.adapters.record import block_text, canonical_text, json_value

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
