"""A program without hooks under a guard: stopped and continued as a whole, from outside.

The program and all that it starts are signalled by pidfds, so that a signal never reaches a process that got
the number of one that has ended. A pause is in effect once all of them stand still, and is told as such then.
A program is stopped wherever it is: a call of a model may end meanwhile, and a file be half written. So this
is for programs that have no place to ask before a step. Linux alone has what it needs.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from eddy_client.guard.errors import SessionAborted
from eddy_client.guard.guard import GuardedSession

log = logging.getLogger("eddy_client.guard")

_LOOK_S = 0.1
_GRACE_S = 5.0
_ROUNDS = 200
_SET_CHILD_SUBREAPER = 36
_STANDS_STILL, _HAS_ENDED = frozenset("Tt"), frozenset("ZX")
_STATE, _PARENT, _BEGAN = 0, 1, 19


class Descendant(NamedTuple):
    """A process as it was seen: its number, when it began, and how it stands."""

    pid: int
    began: str
    state: str


def run(
    command: Sequence[str],
    session: GuardedSession,
    *,
    env: Mapping[str, str] | None = None,
    grace: float = _GRACE_S,
) -> int:
    """Run a program to its end, as the operators of its session let it, and return its exit status.

    What was commanded before holds from the beginning. A note cannot be handed over: it expires, and
    operators see that. Call it in the main thread: while it runs, SIGINT is left to the program, and SIGTERM
    and SIGHUP end it.

    Args:
        command: The program and its arguments.
        session: The session that operators know it by.
        env: Its environment, by default that of this process.
        grace: Seconds that it has to end after SIGTERM, before SIGKILL.

    Returns:
        Its status; 128 and the number of a signal that ended it.

    Raises:
        SessionAborted: the session was ended before the program began.
        OSError: the program cannot be run, or this system has no pidfds.
    """
    if not hasattr(os, "pidfd_open"):
        raise OSError("Only Linux can hold a program by its pidfd.")
    session.integration = "process"
    session.check(notes=False)
    _adopt_orphans()
    with _Signals() as asked:
        return _Program(command, session, env, grace).run(asked)


class _Program:
    def __init__(
        self, command: Sequence[str], session: GuardedSession, env: Mapping[str, str] | None, grace: float
    ) -> None:
        self._session, self._grace = session, grace
        self._paused = self._complained = False
        given = None if env is None else dict(env)
        self._child = subprocess.Popen(list(command), env=given)  # noqa: S603 - its user asks for it

    def run(self, asked: _Signals) -> int:
        while (status := self._child.poll()) is None:
            level = self._session.peek().level
            if level == "aborted" or asked.end(paused=self._paused):
                self._end()
                continue
            if level != "paused":
                if self._paused:
                    self._paused = self._complained = False
                    self._signal_all(signal.SIGCONT)
                self._session.hold(level=level)
            else:
                self._paused = True
                # Only when all stand still, what was asked for is in effect. Somebody may continue them.
                if stopped():
                    self._session.hold(level=level)
                elif not self._complained:
                    self._complained = True
                    log.warning("Not all that %s runs can be stopped.", self._session.session_id)
            time.sleep(_LOOK_S)
            _reap(self._child.pid)
        if self._session.peek().level == "aborted":
            self._end()  # what it left behind, too
            if not descendants():
                self._session.hold(level="aborted")
        return status if status >= 0 else 128 - status

    def _end(self) -> None:
        """End everything: SIGTERM first, to those that stand still as well, SIGKILL after the grace."""
        until = time.monotonic() + self._grace
        self._signal_all(signal.SIGTERM)
        self._signal_all(signal.SIGCONT)
        while time.monotonic() < until:
            self._child.poll()
            _reap(self._child.pid)
            if not descendants():
                return
            time.sleep(_LOOK_S / 2)
        for _ in range(_ROUNDS):
            if not descendants():
                break
            self._signal_all(signal.SIGKILL)
            self._child.poll()
            _reap(self._child.pid)
            time.sleep(0.01)
        self._child.wait()

    @staticmethod
    def _signal_all(number: signal.Signals) -> None:
        for each in descendants():
            signalled(each, number)


class _Signals:
    """What this process was asked by signals while the program runs."""

    def __init__(self) -> None:
        self._came: list[int] = []  # a handler may interrupt anything, so it takes no lock
        self._before: dict[int, object] = {}

    def __enter__(self) -> _Signals:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]  # what it was

    def _take(self, number: int, _: object) -> None:
        self._came.append(number)

    def end(self, *, paused: bool) -> bool:
        """Tell whether the program is to end: a program that is stopped cannot hear of Ctrl-C itself."""
        came, self._came = self._came, []
        return any(number != signal.SIGINT or paused for number in came)


def descendants() -> list[Descendant]:
    """Return what runs below this process, each with its state; what has ended is left out."""
    below: dict[int, list[Descendant]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (found := _seen(int(entry.name))) is not None:
            parent, process = found
            below.setdefault(parent, []).append(process)
    result, waiting = [], [os.getpid()]
    while waiting:
        children = below.pop(waiting.pop(), [])
        result += [each for each in children if each.state not in _HAS_ENDED]
        waiting += [each.pid for each in children]
    return result


def _seen(pid: int) -> tuple[int, Descendant] | None:
    """Return the parent of a process and how it stands; None if it is gone."""
    try:
        # The name stands in brackets and may have any of them, and blanks, in it.
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
    except OSError:
        return None
    return int(fields[_PARENT]), Descendant(pid, fields[_BEGAN], fields[_STATE])


def signalled(process: Descendant, number: signal.Signals) -> bool:
    """Send a signal, and tell whether it arrived: not if the process has ended or belongs to another user."""
    with suppress(ProcessLookupError, PermissionError), _held(process.pid) as descriptor:
        now = _seen(process.pid)
        if now is not None and now[1].began == process.began:
            signal.pidfd_send_signal(descriptor, number)
            return True
    return False


@contextmanager
def _held(pid: int) -> Iterator[int]:
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def stopped(look: Callable[[], list[Descendant]] = descendants) -> bool:
    """Stop everything below this process; False if something runs on, such as what multiplies too fast."""
    for _ in range(_ROUNDS):
        running = [each for each in look() if each.state not in _STANDS_STILL]
        if not running:
            return True
        for each in running:
            signalled(each, signal.SIGSTOP)
        time.sleep(0.001)
    return False


def _adopt_orphans() -> None:
    """Become the parent of what a program leaves behind: else it could not be found any more."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "Orphans cannot be adopted.")


def _reap(but: int) -> None:
    """Take leave of orphans that have ended; the program itself is waited for by who has started it."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in (0, but):
            return
        with suppress(ChildProcessError):
            os.waitpid(found.si_pid, os.WNOHANG)


__all__ = ["SessionAborted", "run"]
