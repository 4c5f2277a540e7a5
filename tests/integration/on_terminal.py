"""Runs a command on a terminal of its own, as a person does, or with pipes, and returns what it wrote."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE_SECONDS = 120
_WIDTH = 100


def on_terminal(words: Sequence[str], environment: Mapping[str, str], directory: Path) -> bytes:
    """Return all that the command wrote to its terminal, whichever stream it was."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, _WIDTH, 0, 0))
    with subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=directory
    ) as process:
        os.close(theirs)
        written = bytearray()
        try:
            while True:
                try:
                    more = os.read(ours, 65_536)
                except OSError:  # how a terminal says that nobody has it open any more
                    break
                if not more:
                    break
                written += more
            process.wait(PATIENCE_SECONDS)
        finally:
            process.kill()
            os.close(ours)
    return bytes(written)


def through_pipes(
    words: Sequence[str], environment: Mapping[str, str], directory: Path
) -> tuple[bytes, bytes]:
    """Return what the command wrote to standard output, and what it wrote to standard error."""
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment,
        cwd=directory,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    return done.stdout, done.stderr
