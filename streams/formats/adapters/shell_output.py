"""What a coding agent writes around the output of a command: taken off, and its exit code read.

Such a head differs in each call, by a chunk id or by the time that the command took. Two equal results would
differ by it.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from streams.formats.adapters.record import json_value

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


_FENCE: Final = re.compile(r"\A<untrusted_context>\n?(?P<text>.*?)\n?</untrusted_context>\s*\Z", re.DOTALL)
_GEMINI_TAIL: Final = re.compile(
    r"(?:Exit Code: (?P<code>-?\d{1,10}|\(none\))|Process Group PGID: [^\n]*|Background PIDs: [^\n]*"
    r"|Signal: [^\n]*|Error: \(none\)|Stderr: \(empty\))\Z"
)
_LABELLED: Final = re.compile(
    r"\ACommand: .*?\nDirectory: [^\n]*\n(?=(?:Output|Stdout): )", re.DOTALL
)  # of Gemini CLI until February 2026, and of Qwen Code
_OUTPUT_LABEL: Final = re.compile(r"\A(?:Output|Stdout): (?:\(empty\)\Z)?")
_RETURNED: Final = re.compile(
    r"\s*<returncode>(?P<code>-?\d{1,10})</returncode>\s*(?:<output>\n?(?P<output>.*?)</output>)?", re.DOTALL
)


_LONGEST_HEAD: Final = 400
_REFUSED: Final = re.compile(
    r"(?:(?:patch|exec|exec_command|command|tool call|mcp tool call|user)[ :]*(?:command )?)?"
    r"(?:was )?(?:rejected|denied|declined|cancelled|canceled) (?:by|this) (?:the )?(?:user|command|call)"
    r"|user (?:rejected|denied|declined|cancelled)"
    r"|exec_command failed\b.{0,300}\brejected\(\\*\"rejected by user",
    re.DOTALL,
)
_ABORTED: Final = re.compile(
    r"(?:wall time: [^\n]*\n)?(?:command |patch |tool call )?(?:was )?(?:aborted|interrupted)"
    r"(?: by (?:the )?user\b|\.?\s*\Z)"
)
_FAILED: Final = re.compile(
    r"failed in sandbox|sandbox(?: error|:? denied)|execution error|exec_command failed|exec error"
    r"|apply_patch verification failed|failed to |unsupported (?:call|tool)|unknown (?:tool|function)"
    r"|command timed out|error:|tool call error|patch rejected|approval (?:denied|required)"
    r"|approval policy is [^\n]*reject command|rejected: (?:policy|blocked by policy)"
    r"|this action was rejected due to |write_stdin failed|exec failed|invalid (?:patch|arguments)|mcp error"
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


def codex_failure(text: str) -> tuple[str, str | None] | None:
    r"""Return how a call of Codex ended whose output says it in words: its status, and what a person did.

    >>> codex_failure("failed in sandbox: denied"), codex_failure("aborted by user after 3.1s")
    (('failure', None), ('skipped', 'interruption'))
    >>> codex_failure("patch rejected by user"), codex_failure("2 files changed")
    (('skipped', 'refusal'), None)
    """
    head = text[:_LONGEST_HEAD].lstrip().lower()
    if _REFUSED.match(head):
        return "skipped", "refusal"
    if _ABORTED.match(head):
        return "skipped", "interruption"
    return ("failure", None) if _FAILED.match(head) else None


def gemini_output(text: str) -> ShellOutput:
    r"""Read the output of a command as Gemini CLI gives it to its model: a label before it, ids below it.

    >>> gemini_output(
    ...     "<untrusted_context>\nOutput: no\nExit Code: 1\nProcess Group PGID: 7\n</untrusted_context>"
    ... )
    ShellOutput(text='no', exit_code=1)
    >>> gemini_output("plain\nExit Code: 1")
    ShellOutput(text='plain\nExit Code: 1', exit_code=None)
    >>> gemini_output(
    ...     "Command: make\nDirectory: (root)\nOutput: no\nError: (none)\nExit Code: 2\nProcess Group PGID: 7"
    ... )
    ShellOutput(text='no', exit_code=2)
    """
    fenced = _FENCE.match(text)
    inside = text if fenced is None else fenced["text"]
    labelled = _LABELLED.match(inside)
    if labelled is not None:
        inside = inside[labelled.end() :]
    elif fenced is None and not text.startswith("Output: "):
        return ShellOutput(text, None)
    lines, code = inside.rstrip("\n").split("\n"), None
    if fenced is None and _GEMINI_TAIL.match(lines[-1]) is None:
        return ShellOutput(text, None)
    while lines and (tail := _GEMINI_TAIL.match(lines[-1])) is not None:
        code = int(tail["code"]) if tail["code"] and tail["code"] != "(none)" else code
        lines.pop()
    return ShellOutput(_OUTPUT_LABEL.sub("", "\n".join(lines)).rstrip(), code)


def mini_output(text: str) -> ShellOutput:
    r"""Read the output of a command as mini-swe-agent gives it to its model, in tags.

    >>> mini_output("<returncode>1</returncode>\n<output>\nno\n</output>")
    ShellOutput(text='no\n', exit_code=1)
    """
    found = _RETURNED.match(text)
    if found is None:
        return ShellOutput(text, None)
    return ShellOutput(text if found["output"] is None else found["output"], int(found["code"]))


def agent_output(text: str) -> ShellOutput:
    """Read an output of an agent that is not known: by the first of the agents above who writes so."""
    for each in (codex_output, gemini_output, mini_output):
        found = each(text)
        if found != (text, None):
            return found
    return ShellOutput(text, None)


def _exit_code(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
