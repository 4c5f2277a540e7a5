"""Starts the workers, passes signals on to them, and ends all of them when one ends.

It restarts nothing. A worker that ends has a reason, and it is for whoever started this process (systemd,
Kubernetes, a person) to know when to try again: the exit status is that of the worst worker.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from streams.operate.supervisor.lines import Lines
from streams.operate.supervisor.status import worst
from streams.operate.supervisor.worker import Worker

log = logging.getLogger(__name__)

#: As of a worker that cannot use its machine.
_NOT_STARTED: Final = 1


class Ended(NamedTuple):
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
        self._lines = {number: Lines(number) for number in commands}
        self._stopping = self._interrupted = False

    async def run(self) -> Ended:
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
                lambda: Worker(self._lines[number]),
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

    def _ended(self) -> Ended:
        number = worst(self._statuses)
        status = self._statuses[number]
        if status == 0:
            return Ended(0, "")
        said = self._lines[number].last_words or "Its last lines are above."
        return Ended(status, f"Worker {number} ended with status {status}. {said}")
