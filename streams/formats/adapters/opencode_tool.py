"""How a call of OpenCode ended, by the state of its part."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from streams.formats.adapters.conversation import UserTurn
from streams.formats.adapters.record import block_text, media_text

_NAME_OF_ERROR: Final = re.compile(r"\s*(?:[A-Za-z]{0,60}Error: )?")
_REFUSED: Final = ("The user rejected permission", "The user dismissed this question", "The user declined")
_INTERRUPTED: Final = ("Tool execution aborted", "Tool execution was interrupted", "User aborted the command")
_METADATA: Final = ("<bash_metadata>", "<metadata>", "<shell_metadata>")
_LOOKED_AT: Final = 600


class Ended(NamedTuple):
    """The result of a call as text, its status, and what a person did to it."""

    output: str | None
    status: str
    turn: UserTurn | None = None


def ended(tool: str, state: dict[str, Any]) -> Ended | None:
    """Return how a call ended, None if it did not.

    >>> ended("bash", {"status": "completed", "output": "no", "metadata": {"exit": 1}})
    Ended(output='no', status='failure', turn=None)
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
                return Ended(output, "skipped", UserTurn.REFUSAL)
            if words.startswith(_INTERRUPTED):
                return Ended(output, "skipped", UserTurn.INTERRUPTION)
            return Ended(output, "failure")
        case _:
            return None


def _completed(tool: str, state: dict[str, Any]) -> Ended:
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
        return Ended(output, "skipped", UserTurn.INTERRUPTION)
    timed_out = remark >= 0 and "exceeding timeout" in tail[remark:]
    failed = isinstance(code, int) and code != 0
    return Ended(output, "failure" if failed or timed_out or tool == "invalid" else "success")


def _kind(attachment: Any) -> str:
    kind = attachment.get("mime") if isinstance(attachment, dict) else None
    return kind if isinstance(kind, str) else "file"


def _content(attachment: Any) -> Any:
    """Return what makes an attachment differ from others: not its ids, which always do."""
    return attachment.get("url") if isinstance(attachment, dict) and "url" in attachment else attachment
