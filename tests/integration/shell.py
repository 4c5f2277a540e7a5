"""A person at a shell: lines are typed as a page has them, on a terminal of their own."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from tests.integration.pseudo_terminal import PseudoTerminal
from tests.integration.worker_process import PATIENCE_SECONDS

_POLL_SECONDS = 0.05
_PROMPT = re.compile(r"<(\d+)>\$ $")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_INTERRUPT = b"\x03"


class Shell:
    """A bash on a terminal. What is typed is run as it stands, but for names of a page that are nobody's.

    Args:
        environment: All of its environment.
        folder: Where the person is.
        instead: What stands in a line, such as a host of the page, and what is typed instead.
    """

    def __init__(self, environment: Mapping[str, str], folder: Path, instead: Mapping[str, str]) -> None:
        self._instead = instead
        bash = shutil.which("bash")
        assert bash is not None
        self._terminal = PseudoTerminal(
            ("--noprofile", "--norc", "--noediting"),
            {**environment, "PS1": "<$?>$ ", "TERM": "xterm"},
            columns=200,
            program=(bash,),
            folder=folder,
        )
        self._read = 0

    def _new(self) -> str:
        """Return what was written since the last line was typed."""
        return _COLOUR.sub("", self._terminal.written[self._read :].decode(errors="replace"))

    async def _writes(self, *texts: str) -> None:
        """Wait until one of these, or else a prompt, was written."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any(text in self._new() for text in texts) and not _PROMPT.search(self._new()):
            assert time.monotonic() < deadline, f"no {' and no '.join((*texts, 'prompt'))} in: {self._new()}"
            await asyncio.sleep(_POLL_SECONDS)

    async def _prompted(self) -> int:
        """Wait for a prompt; return the exit status that it shows."""
        await self._writes()
        found = _PROMPT.search(self._new())
        assert found
        return int(found[1])

    async def types(self, line: str) -> tuple[int, str]:
        """Type a line and wait for its end; return the exit status, and what it wrote."""
        await self._begin(line)
        return await self._prompted(), self._new()

    async def starts(self, line: str, says: str) -> None:
        """Type a line whose command stays, and wait until it says something.

        Raises:
            AssertionError: It has ended before.
        """
        await self._begin(line)
        await self._writes(says)
        assert says in self._new(), self._new()

    async def interrupts(self) -> int:
        """Press Ctrl-C, and return with what status the command ended.

        Raises:
            AssertionError: It had ended before.
        """
        assert not _PROMPT.search(self._new()), self._new()
        self._terminal.type(_INTERRUPT)
        return await self._prompted()

    async def _begin(self, line: str) -> None:
        await self._prompted()
        for name, other in self._instead.items():
            line = line.replace(name, other)
        self._read = len(self._terminal.written)
        self._terminal.type(f"{line}\n".encode())

    def close(self) -> None:
        """End the shell, and with it what runs in it."""
        self._terminal.close()
