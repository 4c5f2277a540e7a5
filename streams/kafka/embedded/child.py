"""A child process that cannot outlive its parent, however the parent ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Self

# A shell stands between the parent and the child and holds the reading end of a pipe. Whatever ends the
# parent, SIGKILL included, closes the writing end, and the shell then kills the child and removes its files.
# Linux's PR_SET_PDEATHSIG would need no shell, but it fires when the *thread* that started the child ends
# (a broker started with `asyncio.to_thread` would die at once), needs code between fork and exec, which is
# unsafe in a process with threads, and does not exist on macOS. Only the shell, which has not yet waited for
# the child, signals it: its process id cannot have been given to another process.
_GUARD = """
exec 3<&0 </dev/null
scratch=$1
shift
"$@" 3<&- &
child=$!
{
  while read -r signal <&3; do kill -s "$signal" "$child"; done
  kill -s KILL "$child"
} 2>/dev/null &
wait "$child"
status=$?
{ kill "$!"; wait "$!"; } 2>/dev/null
cd / && rm -rf -- "$scratch"
exit "$status"
"""

_LOG_TAIL_BYTES = 4096


class Child:
    """A running program with a scratch directory of its own, both gone when this process is gone.

    It runs in its own session, so that Ctrl-C in a terminal reaches the parent alone, which then stops its
    children in the order it needs. Processes the parent forks without `exec` inherit the pipe and keep the
    child alive as well.

    Args:
        command: the program to run and its arguments.
        scratch: directory the program runs in; removed with everything in it when the program has ended.
        environment: the program's whole environment; the parent's when None.
    """

    def __init__(
        self, command: Sequence[str], *, scratch: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        # The file has no name: it disappears with the last process that holds it open.
        self._log: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `kill`
        self._last_words = ""
        self._guard = subprocess.Popen(  # noqa: S603 - running a program is what this is for
            ["/bin/sh", "-c", _GUARD, "guard", os.fspath(scratch), *command],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            cwd=scratch,
            env=environment,
            bufsize=0,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Kill the program."""
        self.kill()

    def ended(self, *, within: float = 0.0) -> bool:
        """Tell whether the program has ended, waiting at most `within` seconds for it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(timeout=within)
        return self._guard.returncode is not None

    def signal(self, name: str) -> None:
        """Send the program a signal, named as `kill -s` names it: `TERM`, `STOP`, `CONT`."""
        # A program that has ended needs no signal.
        with contextlib.suppress(BrokenPipeError):
            self._pipe().write(f"{name}\n".encode())

    def kill(self) -> None:
        """End the program at once (SIGKILL) and wait until it and its scratch directory are gone."""
        self._pipe().close()
        self._guard.wait()
        self._last_words = self.said()
        self._log.close()

    def said(self) -> str:
        """Return the end of what the program has written to its standard output and error."""
        if self._log.closed:
            return self._last_words
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _LOG_TAIL_BYTES))
        return self._log.read().decode(errors="replace").strip()

    def _pipe(self) -> BinaryIO:
        pipe = self._guard.stdin
        assert pipe is not None
        return pipe  # type: ignore[return-value]
