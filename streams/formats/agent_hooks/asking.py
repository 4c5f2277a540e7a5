"""`eddy guard hook`: what an agent runs before and after each call, to ask the `eddy watch` of this machine.

An agent waits for its hooks, so this imports little. It ends with 0 and says nothing, which lets the agent go
on, whatever happens; where a call must not run unwatched, it ends with 2, which the programs take as no.
"""

from __future__ import annotations

import json
import math
import os
import re
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress

from streams.formats.hook import cut, short, state_file

SOCKET_VARIABLE = "EDDY_WATCH_SOCKET"
LONGEST_REQUEST = 64_000
"""Bytes. Longer texts of an event are cut, each marked by what it was."""

MARGIN_S = 10.0
"""So long before the timeout of a hook it answers: the tool may run if a hook times out."""

WAITS = b"wait\n"
"""What the watch says at once if an answer takes a while: so a hook knows that it is there."""

_TEXT_LENGTHS = (16_000, 4_000, 1_000, 200)
_MOST_FIELDS = 40
_CONNECT_S = 0.5
_ANSWER_S = 3.0
_REFUSED = 2
_SESSION = re.compile(rb'"(session_id|sessionId|conversation_id)"\s*:\s*"([^"\\\x00-\x1f]{1,500})"')


def main(arguments: Sequence[str]) -> None:
    """Ask about what stands on standard input, print the answer, and end the process.

    Args:
        arguments: PROGRAM MOMENT [--timeout SECONDS] [--if-lost go|refuse].
    """
    status = 0
    try:
        program, moment, *options = arguments
        given = dict(zip(options[::2], options[1::2], strict=True))
        try:
            within = float(given.get("--timeout", 0)) - MARGIN_S
            answer = asked(program, moment, sys.stdin.buffer.read(), max(0.0, within))
            if answer:
                sys.stdout.write(answer)
                sys.stdout.flush()
        except BaseException:
            status = _REFUSED if given.get("--if-lost") == "refuse" and moment == "before" else 0
            raise
    except BaseException as error:  # noqa: BLE001 - the agent must go on, whatever it is
        _complain(error, "The tool did not run" if status else "The tool runs")
    os._exit(status)


def asked(program: str, moment: str, given: bytes, within: float) -> str:
    """Return what the watch answers; empty if nothing is to be said.

    Args:
        program: Program that runs the hook, as it is installed.
        moment: When it runs: before or after a call.
        given: What the program gave the hook.
        within: How long to wait at most while the session is paused, in seconds.

    Raises:
        ValueError: it names no session, or the answer is cut off.
        OSError: no watch runs here.
    """
    try:
        event = json.loads(given, parse_constant=str, parse_float=_number)
        if not isinstance(event, dict):
            raise ValueError("what a hook is given is an object")  # noqa: TRY004, TRY301 - it is data
        line = _line(program, moment, within, event)
    except (ValueError, RecursionError):
        # Whether it may go on depends on its session alone.
        found = _SESSION.search(given)
        if found is None:
            raise
        named = {found[1].decode(): found[2].decode("utf-8", "replace")}
        line = _line(program, moment, within, named)
    return exchanged(line, within)


def _number(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


def exchanged(line: bytes, within: float = 0.0) -> str:
    """Send a line to the watch, and return the line that it answers.

    Args:
        line: The request, with its end of line.
        within: Seconds that it may take longer, if the watch says that the session waits.

    Raises:
        ValueError: the answer is cut off.
        OSError: no watch runs here, or it does not answer.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_CONNECT_S)
        connection.connect(path())
        connection.settimeout(_ANSWER_S)
        connection.sendall(line)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
            if answer.startswith(WAITS):
                connection.settimeout(within + _ANSWER_S)
                answer = answer.removeprefix(WAITS)
    if not answer.endswith(b"\n"):
        raise ValueError("the watch was gone before it had answered")
    return answer[:-1].decode()


def path() -> str:
    """Return where the watch of this machine listens."""
    return os.environ.get(SOCKET_VARIABLE) or state_file("watch.sock")


def _line(program: str, moment: str, within: float, event: dict[str, object]) -> bytes:
    request = {"hook": program, "moment": moment, "within": within}
    line = _bytes({**request, "event": event})
    for length in _TEXT_LENGTHS:
        if len(line) <= LONGEST_REQUEST:
            return line
        line = _bytes({**request, "event": cut(event, length)})
    if len(line) > LONGEST_REQUEST:  # many short texts
        few = {name[: _TEXT_LENGTHS[-1]]: short(each) for name, each in list(event.items())[:_MOST_FIELDS]}
        line = _bytes({**request, "event": few})
    return line


def _bytes(request: object) -> bytes:
    """Return a request as a line of UTF-8; half of a surrogate pair becomes a question mark."""
    return json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _complain(error: BaseException, then: str) -> None:
    # A model may read this.
    is_away = isinstance(error, FileNotFoundError | ConnectionRefusedError | TimeoutError)
    why = "no `eddy watch` runs or answers here" if is_away else f"{type(error).__name__}: {error}"
    sentence = f"eddy guard hook: {then}: nobody could be asked ({why})."
    with suppress(OSError):  # there may be no standard error either
        os.write(2, sentence[:1_000].encode("utf-8", "replace") + b"\n")
