"""Starts the workers, passes signals on to them, and ends all of them when one ends.

It restarts nothing. A worker that ends has a reason, and it is for whoever started this process (systemd,
Kubernetes, a person) to know when to try again: the exit status is that of the worst worker.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, cast

LAST_WORDS: Final = b"eddy: "
#: A line that is longer is passed on in parts: memory is bounded, whatever a worker writes.
_LONGEST: Final = 1 << 20


class LogLines:
    r"""Cuts what a worker writes into lines, and marks them.

    A line in JSON gets the number as its first field, any other line is preceded by it.

    Args:
        number: Number of the worker, put on each line.

    Attributes:
        last_words: What it said last of why it ends, without ``eddy:``; empty if it has not.

    >>> lines = LogLines(2)
    >>> lines.add(b'Ready.\n{"event": "Read')
    [b'[worker 2] Ready.\n']
    >>> lines.add(b'y."}\neddy: No broker answers.\n')
    [b'{"worker": 2, "event": "Ready."}\n', b'[worker 2] eddy: No broker answers.\n']
    >>> lines.last_words
    'No broker answers.'
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._rest = b""
        self.last_words = ""

    def add(self, written: bytes) -> list[bytes]:
        """Return the lines that are complete by now."""
        *lines, self._rest = (self._rest + written).split(b"\n")
        if len(self._rest) > _LONGEST:
            lines, self._rest = [*lines, self._rest], b""
        return [self._marked(line) for line in lines]

    def end(self) -> list[bytes]:
        """Return what was written without an end of line."""
        rest, self._rest = self._rest, b""
        return [self._marked(rest)] if rest else []

    def _marked(self, line: bytes) -> bytes:
        if line.startswith(LAST_WORDS):
            self.last_words = line.removeprefix(LAST_WORDS).decode(errors="replace")
        if line.startswith(b'{"'):
            return b'{"worker": %d, %s\n' % (self._number, line[1:])
        return b"[worker %d] %s\n" % (self._number, line)


_STDERR: Final = 2

#: More than a pipe holds: what was written before the worker ended, and not what others write afterwards.
_MOST_LEFT: Final = 1 << 20


class WorkerOutput(asyncio.SubprocessProtocol):
    """Passes on what a process writes until it ends.

    The end of the process counts, not that of its standard error: a process that it leaves behind may keep
    that open for as long as it likes. `asyncio.subprocess.Process.wait` waits for it in some Pythons.

    Args:
        lines: What its lines become.

    Attributes:
        ended: Its status, as `subprocess` gives it.
    """

    def __init__(self, lines: LogLines) -> None:
        self._lines = lines
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note of the process."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, _fd: int, data: bytes) -> None:
        """Pass on what it writes."""
        _write(self._lines.add(data))

    def process_exited(self) -> None:
        """Read what is left, once what was read before is passed on."""
        pipe = self._pipe()
        if pipe is not None:
            pipe.pause_reading()
        self._loop.call_soon(self._finish, pipe)

    def _pipe(self) -> asyncio.ReadTransport | None:
        pipe = cast("asyncio.ReadTransport | None", self._transport.get_pipe_transport(_STDERR))
        return None if pipe is None or pipe.is_closing() else pipe

    def _finish(self, pipe: asyncio.ReadTransport | None) -> None:
        if pipe is not None:
            # asyncio has made it one that does not block.
            with suppress(BlockingIOError):
                _write(self._lines.add(os.read(pipe.get_extra_info("pipe").fileno(), _MOST_LEFT)))
        _write(self._lines.end())
        status = self._transport.get_returncode()
        assert status is not None
        self._transport.close()
        self.ended.set_result(status)


def _write(lines: Sequence[bytes]) -> None:
    # If nobody reads the log any more, the workers go on without.
    with suppress(OSError):
        sys.stderr.buffer.writelines(lines)
        sys.stderr.buffer.flush()


#: Statuses of a worker (docs/operations.md) from bad to worse: the more a person has to do before a restart
#: helps, the worse. A status that is not here is a signal: worse than a stall, since it may come again.
_WAITING_HELPS: Final = (0, 3, 70)
_A_PERSON_HELPS: Final = (1, 2)


def worst(statuses: Mapping[int, int]) -> int:
    """Return the number of the worker whose exit status is the worst; the first of several.

    >>> worst({1: 0, 2: 3, 3: 137, 4: 70})
    3
    >>> worst({1: 137, 2: 2, 3: 2})
    2
    """
    return max(statuses, key=lambda number: _badness(statuses[number]))


def _badness(status: int) -> int:
    if status in _WAITING_HELPS:
        return _WAITING_HELPS.index(status)
    if status in _A_PERSON_HELPS:
        return 100 + _A_PERSON_HELPS.index(status)
    return 50


log = logging.getLogger(__name__)

#: As of a worker that cannot use its machine.
_NOT_STARTED: Final = 1


class SupervisorEnd(NamedTuple):
    """How the workers ended: the status for all, and the sentence that says why; empty if all is well."""

    status: int
    why: str


class Supervisor:
    """Runs workers until the first of them ends or a signal asks all of them to.

    Args:
        commands: The command of each worker, by its number. A worker has to `tie` itself to this process.
    """

    def __init__(self, commands: Mapping[int, Sequence[str]]) -> None:
        self._commands = commands
        self._running: dict[int, asyncio.SubprocessTransport] = {}
        self._statuses: dict[int, int] = {}
        self._lines = {number: LogLines(number) for number in commands}
        self._stopping = self._interrupted = False

    async def run(self) -> SupervisorEnd:
        """Start the workers; return when all of them have ended."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop)
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        try:
            async with asyncio.TaskGroup() as workers:
                for number, command in self._commands.items():
                    workers.create_task(self._work(number, command), name=f"worker-{number}")
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
        return self._ended()

    async def _work(self, number: int, command: Sequence[str]) -> None:
        """Run a worker to its end, and have the others stop if nobody asked for it."""
        try:
            process, worker = await asyncio.get_running_loop().subprocess_exec(
                lambda: WorkerOutput(self._lines[number]),
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=None,
                stderr=asyncio.subprocess.PIPE,
                # Ctrl-C in a terminal reaches this process alone, which passes it on.
                process_group=0,
            )
        except OSError as error:
            self._lines[
                number
            ].last_words = f"It could not be started: {error}. Look at the machine's limits."
            self._statuses[number] = _NOT_STARTED
        else:
            log.info("Worker %s of %s is process %s.", number, len(self._commands), process.get_pid())
            self._running[number] = process
            if self._stopping:
                process.terminate()
            status = await worker.ended
            del self._running[number]
            self._statuses[number] = self._meaning(status)
        if not self._stopping:
            log.error(
                "Worker %s has ended with status %s. It is not restarted: the other workers are stopped, and "
                "then all of them can be started again.",
                number,
                self._statuses[number],
            )
            self._stop()

    def _meaning(self, status: int) -> int:
        """Return an exit status as shells write it."""
        if status >= 0:
            return status
        # One that was asked to stop before it could listen holds nothing yet.
        return 0 if self._stopping and -status == signal.SIGTERM else 128 - status

    def _stop(self) -> None:
        """Ask every worker to stop. Asking again changes nothing: some programs send SIGTERM twice."""
        if not self._stopping:
            self._stopping = True
            self._send(signal.SIGTERM)

    def _interrupt(self) -> None:
        """Stop at the first Ctrl-C, kill at the second."""
        if self._interrupted:
            log.warning("Interrupted again: the workers are killed. What they had begun is done again.")
            self._send(signal.SIGKILL)
        self._interrupted = True
        self._stop()

    def _send(self, number: signal.Signals) -> None:
        for process in self._running.values():
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def _ended(self) -> SupervisorEnd:
        number = worst(self._statuses)
        status = self._statuses[number]
        if status == 0:
            return SupervisorEnd(0, "")
        said = self._lines[number].last_words or "Its last lines are above."
        return SupervisorEnd(status, f"Worker {number} ended with status {status}. {said}")


#: The supervisor holds the writing end of this pipe and never writes. The kernel closes it with the
#: supervisor, SIGKILL included. (Linux's PR_SET_PDEATHSIG does the same only there, and also fires when the
#: thread ends that started the worker.)
_PIPE = 0

#: As after SIGKILL. Nobody is left to read it.
_STATUS = 137


def tie() -> None:
    """Watch the pipe on standard input, and end this process at once when it closes.

    A worker that drained instead would hold its directory and its port for a while, and the supervisor's
    successor would be refused. Nothing is lost: a worker may be killed at any time.
    """
    threading.Thread(target=_watch, name="tether", daemon=True).start()


def _watch() -> None:
    while os.read(_PIPE, 64):
        pass
    os._exit(_STATUS)
