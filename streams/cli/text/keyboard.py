"""Keys of a terminal, one by one, on a terminal that is as it was afterwards."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_MOST_BYTES = 1024


@contextmanager
def keyboard(typed: Callable[[bytes], None]) -> Iterator[None]:
    """Pass on what is typed, at once and without showing it; no bytes say that the terminal is gone.

    Signals stay as they are: Ctrl-C interrupts and Ctrl-Z suspends. If standard input is no terminal, no key
    comes.
    """
    if not sys.stdin.isatty():
        yield
        return
    descriptor, loop = sys.stdin.fileno(), asyncio.get_running_loop()

    def read() -> None:
        try:
            found = os.read(descriptor, _MOST_BYTES)
        except OSError:
            found = b""
        if not found:
            loop.remove_reader(descriptor)
        typed(found)

    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor, termios.TCSANOW)
    try:
        loop.add_reader(descriptor, read)
        yield
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
