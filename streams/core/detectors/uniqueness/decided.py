"""A decision as A1 compares it: intent, tool and status as one text, equal exactly if all three are."""

from __future__ import annotations

from streams.core.domain.status import LETTERS, STATUSES


def decided(intent: str, tool: str | None, status: str) -> str:
    """Return the text: the letter of the status, the length of the tool unless it is null, tool and intent.

    Args:
        intent: bounded, as the tool is.
        tool: None is another tool than the empty one.
        status: the status, or its letter already.

    >>> decided("list files", "ls", "success"), decided("", "", "failure"), decided("think", None, "success")
    ('s2:lslist files', 'f0:', 's:think')
    """
    letter = LETTERS.get(status, status)
    return f"{letter}:{intent}" if tool is None else f"{letter}{len(tool)}:{tool}{intent}"


def pattern_of(text: str) -> dict[str, str]:
    """Return what was decided, with the names of a report; no tool is reported as the empty one.

    >>> pattern_of("s2:lslist files")
    {'intent': 'list files', 'tool_call': 'ls', 'action_status': 'success'}
    """
    at = text.index(":")
    tool = at + 1 + int(text[1:at] or 0)
    return {"intent": text[tool:], "tool_call": text[at + 1 : tool], "action_status": STATUSES[text[0]]}
