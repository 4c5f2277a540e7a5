"""What a coding agent writes around the output of a command: taken off, and its exit code read.

Such a head differs in each call, by a chunk id or by the time that the command took. Two equal results would
differ by it.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from streams.sources.adapters.record import json_value

_CODEX_HEAD: Final = re.compile(
    r"(?:(?:Chunk ID: [^\n]*"
    r"|Wall time: [^\n]*"
    r"|Process running with session ID [^\n]*"
    r"|Process exited with code (?P<ended>-?\d{1,10})"
    r"|Exit code: (?P<code>-?\d{1,10})"
    r"|Original token count: [^\n]*"
    r"|Total output lines: [^\n]*)\n)+"
    r"Output:(?:\n|\Z)"
)


class ShellOutput(NamedTuple):
    """The output of a command. ``exit_code`` is None if the text does not say it."""

    text: str
    exit_code: int | None

    @property
    def status(self) -> str:
        """Return the status of the call: an exit code other than zero is a failure."""
        return "failure" if self.exit_code else "success"


def codex_output(text: str) -> ShellOutput:
    r"""Read the output of a command as Codex gives it to its model, in any of its three forms.

    >>> codex_output("Chunk ID: 5fb076\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\nno\n")
    ShellOutput(text='no', exit_code=1)
    >>> codex_output("Exit code: 0\nWall time: 1 seconds\nOutput:\nyes")
    ShellOutput(text='yes', exit_code=0)
    >>> codex_output('{"output": "no", "metadata": {"exit_code": 2}}')
    ShellOutput(text='no', exit_code=2)
    >>> codex_output("plain\n")
    ShellOutput(text='plain\n', exit_code=None)
    """
    head = _CODEX_HEAD.match(text)
    if head is not None:
        code = head["ended"] or head["code"]
        return ShellOutput(text[head.end() :].rstrip(), int(code) if code else None)
    match json_value(text) if text.startswith("{") else None:
        case {"output": str(output), "metadata": dict(metadata)}:
            return ShellOutput(output.rstrip(), _exit_code(metadata.get("exit_code")))
        case _:
            return ShellOutput(text, None)


def _exit_code(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
