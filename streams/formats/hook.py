"""`eddy hook`: keeps what Claude Code gives its hooks, a line for each call, for `eddy ingest` to carry on.

An agent waits for its hooks, so this module imports little, writes once, and ends with 0 whatever happens. A
line has less than 4 kB, so that lines of several hooks at once do not mix. Longer texts are cut; what stands
for the rest differs as the texts do.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress

FILE_VARIABLE = "EDDY_HOOK_FILE"
LONGEST_LINE = 4_000
MOST_BYTES = 64 << 20
"""A larger file is set aside under its name with `.1`, in the place of the one before."""

_KEPT = (
    "session_id",
    "agent_id",
    "hook_event_name",
    "tool_name",
    "tool_use_id",
    "tool_input",
    "tool_response",
    "error",
    "is_interrupt",
    "reason",
    "prompt",
    "source",
)
_TEXT_LENGTHS = (1_600, 800, 400, 200, 100)
_DEEPEST = 20
_DIGITS = 16


def main() -> None:
    """Keep what stands on standard input, and end the process with 0."""
    try:
        keep(sys.stdin.buffer.read(), time.time_ns() // 1_000_000)
    except Exception as error:  # noqa: BLE001 - the agent must go on, whatever it is
        _complain(error)
    os._exit(0)


def path() -> str:
    """Return the file that lines are appended to.

    Raises:
        OSError: there is no home.
    """
    return os.environ.get(FILE_VARIABLE) or state_file("hooks.jsonl")


def state_file(name: str) -> str:
    """Return the path of a file of this user's state.

    Raises:
        OSError: there is no home.
    """
    state = os.environ.get("XDG_STATE_HOME")
    if not state or not os.path.isabs(state):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "eddy", name)


def keep(given: bytes, now_ms: int) -> None:
    """Append one object of JSON to the file, with the time.

    Raises:
        ValueError: it is no object.
        OSError: the file cannot be written.
    """
    event = json.loads(given)
    if not isinstance(event, dict):
        raise ValueError("what a hook is given is an object")  # noqa: TRY004 - it is data
    line = line_of(event, now_ms)
    file = path()
    try:
        descriptor = _opened(file)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(file) or ".", mode=0o700, exist_ok=True)
        descriptor = _opened(file)
    if os.fstat(descriptor).st_size > MOST_BYTES:
        descriptor = _set_aside(descriptor, file)
    os.write(descriptor, line)


def line_of(event: dict[str, object], now_ms: int) -> bytes:
    r"""Return the line of an event: what Eddy reads of it, and the time.

    >>> line_of({"session_id": "s", "hook_event_name": "SessionEnd", "cwd": "/"}, 7)
    b'{"session_id":"s","hook_event_name":"SessionEnd","ts":7}\n'
    """
    kept: dict[str, object] = {name: event[name] for name in _KEPT if name in event}
    kept["ts"] = now_ms
    line = _line(kept)
    for length in _TEXT_LENGTHS:
        if len(line) < LONGEST_LINE:
            return line
        line = _line({name: cut(value, length) for name, value in kept.items()})
    if len(line) >= LONGEST_LINE:  # many short texts
        line = _line({name: short(value) for name, value in kept.items()})
    return line


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def cut(value: object, length: int, depth: int = 0) -> object:
    """Return a value of JSON whose texts are cut to a length, each marked so that it differs as they do."""
    if isinstance(value, str):
        return _cut_text(value, length)
    if depth >= _DEEPEST:
        return short(value)
    if isinstance(value, dict):
        return {_cut_text(str(name), length): cut(each, length, depth + 1) for name, each in value.items()}
    if isinstance(value, list):
        return [cut(each, length, depth + 1) for each in value]
    return value


def short(value: object) -> object:
    """Return a value, of a long text or of a list its beginning, marked so that it differs as they do."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return _cut_text(value if isinstance(value, str) else json.dumps(value, separators=(",", ":")), 200)


def _cut_text(text: str, length: int) -> str:
    """Return a text, cut to a length; digits, which Eddy does not normalise away, stand for the rest."""
    if len(text) <= length:
        return text
    from hashlib import sha256  # noqa: PLC0415 - only where it is needed

    digest = int(sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), 16) % 10**_DIGITS
    return f"{text[:length]} [cut, h:{digest:0{_DIGITS}d}]"


def _opened(file: str) -> int:
    return os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _set_aside(descriptor: int, file: str) -> int:
    """Rename a file that has grown too large; return a new one. Of several hooks at once, one does it."""
    import fcntl  # noqa: PLC0415 - only where it is needed

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return descriptor
    if os.stat(file).st_ino == os.fstat(descriptor).st_ino:
        os.replace(file, f"{file}.1")
    return _opened(file)


def _complain(error: Exception) -> None:
    sentence = f"eddy hook: nothing was kept ({type(error).__name__}: {error})"
    with suppress(OSError):  # there may be no standard error either
        os.write(2, sentence[:1_000].encode("utf-8", "replace") + b"\n")
