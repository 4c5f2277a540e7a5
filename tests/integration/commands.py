"""Runs commands of Eddy one after another in one interpreter, each in a process of its own.

An interpreter that has imported everything forks for each command: most of a short command is importing.
A command has pipes or a terminal, its own environment and working directory, as if a shell had started it.

Reads one JSON object a line, ``{"words", "environment", "directory", "terminal"}``, and answers each with
``{"out", "errors"}`` in base64. On a terminal everything is ``out``.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

_COLUMNS = 100


class Written(NamedTuple):
    """What a command wrote."""

    out: bytes
    errors: bytes


class Commands:
    """The interpreter that runs them."""

    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        self._server = server

    def run(
        self, words: Sequence[str], environment: Mapping[str, str], directory: Path, *, terminal: bool
    ) -> Written:
        """Run ``eddy`` with these words."""
        request = {
            "words": list(words),
            "environment": dict(environment),
            "directory": str(directory),
            "terminal": terminal,
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.stdin.flush()
        answer = json.loads(self._server.stdout.readline())
        return Written(base64.b64decode(answer["out"]), base64.b64decode(answer["errors"]))


@contextmanager
def commands() -> Iterator[Commands]:
    """Have the interpreter; it ends with the block."""
    with subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        try:
            yield Commands(server)
        finally:
            server.kill()


def _serve() -> None:
    import streams.worker.wiring  # noqa: F401, PLC0415 - what commands import is imported once
    from streams.cli import main  # noqa: PLC0415

    for name in main.list_commands(None):
        main.get_command(None, name)
    for line in sys.stdin.buffer:
        written = _run(json.loads(line))
        answer = {
            "out": base64.b64encode(written.out).decode(),
            "errors": base64.b64encode(written.errors).decode(),
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _run(request: Mapping[str, Any]) -> Written:
    if request["terminal"]:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, _COLUMNS, 0, 0))
        reading, given = [ours], (theirs, theirs, theirs)
    else:
        out, into_out = os.pipe()
        errors, into_errors = os.pipe()
        reading, given = [out, errors], (os.open(os.devnull, os.O_RDONLY), into_out, into_errors)
    child = os.fork()
    if child == 0:
        for descriptor in reading:
            os.close(descriptor)
        _become(request, given)
    for descriptor in set(given):
        os.close(descriptor)
    written = _read(reading)
    os.waitpid(child, 0)
    return Written(*written) if len(written) > 1 else Written(written[0], b"")


def _become(request: Mapping[str, Any], given: tuple[int, int, int]) -> NoReturn:
    """Be the command, until its end."""
    status = 70
    try:
        os.setsid()
        for number, descriptor in enumerate(given):
            os.dup2(descriptor, number)
        os.chdir(request["directory"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.argv = ["eddy", *request["words"]]
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        from streams.__main__ import main  # noqa: PLC0415

        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - the interpreter would print it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _read(descriptors: list[int]) -> list[bytes]:
    """Read until all writers have closed; a terminal says so by an error."""
    found = {descriptor: bytearray() for descriptor in descriptors}
    left = set(descriptors)
    while left:
        for descriptor in select.select(left, [], [])[0]:
            try:
                more = os.read(descriptor, 65_536)
            except OSError:
                more = b""
            found[descriptor] += more
            if not more:
                left.discard(descriptor)
                os.close(descriptor)
    return [bytes(found[descriptor]) for descriptor in descriptors]


if __name__ == "__main__":
    _serve()
