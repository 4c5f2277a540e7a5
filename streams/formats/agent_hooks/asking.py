"""`eddy guard hook`: what an agent runs before and after each call, to ask the `eddy watch` of this machine.

An agent waits for its hooks, so this imports little. It ends with 0 and says nothing, which lets the agent go
on, whatever happens; where a call must not run unwatched, it ends with 2, which the programs take as no.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress

from streams.formats.hook import cut, state_file

SOCKET_VARIABLE = "EDDY_WATCH_SOCKET"
LONGEST_REQUEST = 64_000
"""Bytes. Longer texts of an event are cut, each marked by what it was."""

MARGIN_S = 10.0
"""So long before the timeout of a hook it answers: the tool may run if a hook times out."""

_TEXT_LENGTHS = (16_000, 4_000, 1_000, 200)
_MOST_FIELDS = 40
_CONNECT_S = 0.5
_ANSWER_S = 5.0
_REFUSED = 2


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
        except Exception:
            status = _REFUSED if given.get("--if-lost") == "refuse" and moment == "before" else 0
            raise
    except Exception as error:  # noqa: BLE001 - the agent must go on, whatever it is
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
        ValueError: it is no object, or the answer is cut off.
        OSError: no watch runs here.
    """
    event = json.loads(given)
    if not isinstance(event, dict):
        raise ValueError("what a hook is given is an object")  # noqa: TRY004 - it is data
    request = {"hook": program, "moment": moment, "within": within, "event": event}
    return exchanged(_line(request), within + _ANSWER_S)


def exchanged(line: bytes, within: float) -> str:
    """Send a line to the watch, and return the line that it answers.

    Raises:
        ValueError: the answer is cut off.
        OSError: no watch runs here, or it does not answer within so many seconds.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_CONNECT_S)
        connection.connect(path())
        connection.settimeout(within)
        connection.sendall(line)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    if not answer.endswith(b"\n"):
        raise ValueError("the watch was gone before it had answered")
    return answer[:-1].decode()


def path() -> str:
    """Return where the watch of this machine listens."""
    return os.environ.get(SOCKET_VARIABLE) or state_file("watch.sock")


def _line(request: dict[str, object]) -> bytes:
    line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
    for length in _TEXT_LENGTHS:
        if len(line) <= LONGEST_REQUEST:
            return line
        line = json.dumps(cut(request, length), separators=(",", ":")).encode() + b"\n"
    if len(line) > LONGEST_REQUEST:  # many short texts
        event = request["event"]
        assert isinstance(event, dict)
        short = [(name, each) for name, each in event.items() if isinstance(each, str | int | float)]
        few = dict(short[:_MOST_FIELDS])
        line = json.dumps(cut({**request, "event": few}, _TEXT_LENGTHS[-1])).encode() + b"\n"
    return line


def _complain(error: Exception, then: str) -> None:
    # A model may read this.
    is_away = isinstance(error, FileNotFoundError | ConnectionRefusedError)
    why = "no `eddy watch` runs here" if is_away else f"{type(error).__name__}: {error}"
    sentence = f"eddy guard hook: {then}: nobody could be asked ({why})."
    with suppress(OSError):  # there may be no standard error either
        os.write(2, sentence[:1_000].encode("utf-8", "replace") + b"\n")
