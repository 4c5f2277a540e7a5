"""A program on a pseudo terminal, and what a person would see there."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pyte

from tests.integration.worker_process import PATIENCE_SECONDS, until

ALTERNATE_SCREEN = b"\x1b[?1049h"
MAIN_SCREEN = b"\x1b[?1049l"
CURSOR_SHOWN = b"\x1b[?25h"


def _take_terminal() -> None:
    """Make standard input the terminal that sends signals for keys."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class PseudoTerminal:
    """A terminal with a program on it.

    Attributes:
        written: all that the program wrote.
    """

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        columns: int = 80,
        lines: int = 24,
        *,
        program: Sequence[str] = (sys.executable, "-m", "streams"),
        folder: Path | None = None,
    ) -> None:
        self._ours, self._theirs = pty.openpty()
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.written = bytearray()
        self._resize(columns, lines)
        self.attributes_before = self.attributes
        self.process = subprocess.Popen(
            [*program, *words],
            cwd=folder,
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - nothing else gives it a controlling terminal
        )
        asyncio.get_running_loop().add_reader(self._ours, self._read)

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def attributes(self) -> list[Any]:
        """How the terminal treats what is typed."""
        return termios.tcgetattr(self._theirs)

    def _read(self) -> None:
        found = os.read(self._ours, 65_536)
        self.written += found
        self._stream.feed(found)

    def _resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, typed: bytes) -> None:
        """Press keys."""
        os.write(self._ours, typed)

    def resize(self, columns: int, lines: int) -> None:
        """Be larger or smaller, and tell the program."""
        self._screen.resize(lines, columns)
        self._resize(columns, lines)
        self.process.send_signal(signal.SIGWINCH)

    async def shows(self, *texts: str) -> str:
        """Wait until all of these stand on the screen; return it."""
        await until(
            lambda: all(text in self.text for text in texts) or self.process.poll() is not None,
            PATIENCE_SECONDS,
            f"{texts} on the screen",
        )
        assert all(text in self.text for text in texts), self.text
        return self.text

    async def shows_no(self, text: str) -> None:
        """Wait until this is gone."""
        await until(lambda: text not in self.text, PATIENCE_SECONDS, f"a screen without {text}")

    async def ended(self) -> int:
        """Wait for the end of the program, and for all that it wrote; return its exit status."""
        await until(lambda: self.process.poll() is not None, PATIENCE_SECONDS, "the end of the program")
        while select.select([self._ours], [], [], 0)[0]:
            self._read()
        assert self.process.returncode is not None
        return self.process.returncode

    async def writes(self, what: bytes, times: int) -> None:
        """Wait until the program has written something so many times."""
        await until(lambda: self.written.count(what) >= times, PATIENCE_SECONDS, f"{what!r}, {times} times")

    async def is_suspended(self) -> None:
        """Wait until the program has stopped itself."""
        found = psutil.Process(self.process.pid)
        await until(lambda: found.status() == psutil.STATUS_STOPPED, PATIENCE_SECONDS, "a suspended program")

    def close(self) -> None:
        """End the program, if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        asyncio.get_running_loop().remove_reader(self._ours)
        os.close(self._ours)
        os.close(self._theirs)


@asynccontextmanager
async def on_a_terminal(
    words: Sequence[str], environment: Mapping[str, str], columns: int = 80, lines: int = 24
) -> AsyncIterator[PseudoTerminal]:
    """Run ``eddy`` with these words on a terminal for as long as the block lasts."""
    terminal = PseudoTerminal(words, environment, columns, lines)
    try:
        yield terminal
    finally:
        terminal.close()
