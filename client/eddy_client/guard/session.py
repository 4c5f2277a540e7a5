"""A session under a guard: what its agent asks before each step."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from eddy_client.guard.command import Budget, Command, Note
from eddy_client.guard.control import Control, Outcome
from eddy_client.guard.errors import GuardUnavailable, SessionAborted

if TYPE_CHECKING:
    from eddy_client.guard.guard import Guard

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_NOTHING: tuple[Note, ...] = ()
_LONGEST_WAIT_S = 1.0


class State(NamedTuple):
    """How a session stands.

    Attributes:
        level: `running`, `paused` or `aborted`.
        notes: messages that the next check will hand over.
        budget: the newest budget, from when it is first raised.
        heard_s: seconds since the operators' side was last known to be there.
    """

    level: str
    notes: int
    budget: Budget | None
    heard_s: float


class GuardedSession:
    """A session of an agent. `Guard.session` makes it.

    Attributes:
        session_id: its id.
        agent_id: its agent.
        integration: the framework it is in, for the operators.
        last_event_id: the newest step, for the operators. The agent may set it.
        checkpoint: from where the agent continues, for the operators. The agent may set it.
    """

    def __init__(self, guard: Guard, session_id: str, agent_id: str | None, skew: int = 0) -> None:
        self.session_id = session_id
        self.agent_id = agent_id
        self.integration = "plain"
        self.last_event_id: str | None = None
        self.checkpoint: str | None = None
        self._guard = guard
        self._control = Control(skew)
        self._lock = threading.Lock()
        self._wakers: set[Callable[[], None]] = set()
        self._attached = False
        #: Whether all that was commanded before is known. It stays so if the channel is lost.
        self._known = False
        self._born = time.monotonic()
        #: Whether a check has nothing to do. The one thing that a check reads if so.
        self._quiet = False

    def __enter__(self) -> GuardedSession:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """End: the operators learn that the guard has left."""
        self.close()

    def check(self, tool: str | None = None, *, notes: bool = True) -> tuple[Note, ...]:
        """Return the notes for the next prompt; wait while the session is paused.

        Call it before each call of a model or a tool.

        Args:
            tool: What is about to be called: the guard may be stricter about some tools if it is cut off.
            notes: Whether you can pass notes on now. Otherwise they are left for a later check.

        Raises:
            SessionAborted: an operator has ended the session.
            GuardUnavailable: the guard is cut off, and `on_lost` says `closed` for this tool.
        """
        if self._quiet:
            return _NOTHING
        woken = threading.Event()
        while True:
            given, wait = self._once(tool, notes)
            if wait is None:
                return given
            self._wakers.add(woken.set)
            try:
                if not self._has_news():
                    woken.wait(min(wait, _LONGEST_WAIT_S))
            finally:
                self._wakers.discard(woken.set)
            woken.clear()

    async def acheck(self, tool: str | None = None, *, notes: bool = True) -> tuple[Note, ...]:
        """Do what `check` does, in asyncio."""
        if self._quiet:
            return _NOTHING
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # a loop that was closed meanwhile has nobody to wake
                loop.call_soon_threadsafe(woken.set)

        while True:
            given, wait = self._once(tool, notes)
            if wait is None:
                return given
            self._wakers.add(wake)
            try:
                if not self._has_news():
                    await asyncio.wait_for(woken.wait(), min(wait, _LONGEST_WAIT_S))
            except asyncio.TimeoutError:
                pass
            finally:
                self._wakers.discard(wake)
            woken.clear()

    def peek(self) -> State:
        """Return how the session stands. Never waits, hands nothing over."""
        with self._lock:
            level = self._control.peek(self._guard.now())
            return State(level, self._control.notes, self._control.budget, self._guard.heard_s)

    def hold(self, checkpoint: str | None = None) -> State:
        """Let what was commanded take effect without waiting, and return how the session stands.

        For an agent that does not wait while it is paused, but keeps a checkpoint and ends.

        Args:
            checkpoint: From where the agent will continue, for the operators.
        """
        if checkpoint is not None:
            self.checkpoint = checkpoint
        self._attach()
        now = self._guard.now()
        with self._lock:
            outcome = self._control.check(now, hands_over=False)
        self._guard._answer(self, outcome.answers, now)  # noqa: SLF001 - the two are one
        return self.peek()

    def keep(self, notes: Sequence[Note]) -> None:
        """Give notes back that could not be handed over: the next check returns them."""
        if notes:
            with self._lock:
                self._control.keep(tuple(notes))
            self._quiet = False

    def guarded(self, function: F) -> F:
        """Check before each call of a function, as a decorator. Notes are left for the next check."""

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            self.check(tool=function.__name__, notes=False)
            return function(*args, **kwargs)

        @functools.wraps(function)
        async def achecked(*args: Any, **kwargs: Any) -> Any:
            await self.acheck(tool=function.__name__, notes=False)
            return await function(*args, **kwargs)

        return achecked if asyncio.iscoroutinefunction(function) else checked  # type: ignore[return-value]

    def steps(self, iterable: Iterable[T]) -> Iterator[T]:
        """Check before each item. Notes are left for the next check."""
        for item in iterable:
            self.check(notes=False)
            yield item

    def close(self) -> None:
        """End the session for the operators."""
        self._guard._leave(self)  # noqa: SLF001 - the two are one

    # -- for the guard -------------------------------------------------------------------------------------

    def _take(self, command: Command, now: int) -> None:
        with self._lock:
            self._control.take(command, now)
        self._wake()

    def _given(self, command_id: str) -> None:
        with self._lock:
            self._control.given(command_id)

    def _wake(self) -> None:
        self._quiet = False
        for wake in tuple(self._wakers):
            wake()

    def _attach(self) -> None:
        if not self._attached:
            self._attached = True
            self._guard._attach(self)  # noqa: SLF001 - the two are one

    def _has_news(self) -> bool:
        with self._lock:
            return self._control.has_news

    def _once(self, tool: str | None, notes: bool) -> tuple[tuple[Note, ...], float | None]:
        """Check once; return the notes, or none and how many seconds to wait at most."""
        guard = self._guard
        self._attach()
        # Before the check: what made all known has been taken in by then.
        wait = guard._lost_wait(self, tool)  # noqa: SLF001
        now = guard.now()
        with self._lock:
            outcome = self._control.check(now, hands_over=notes and wait is None)
            calm = self._control.is_calm
        guard._answer(self, outcome.answers, now)  # noqa: SLF001
        if outcome.level == "aborted":
            assert outcome.by is not None
            raise SessionAborted(outcome.by.reason, outcome.by.command_id)
        if outcome.level == "paused":
            return _NOTHING, self._pause_s(outcome, now)
        if wait is None:
            self._quiet = calm
            # A command that came, or a loss of the channel, may have set this to False just before us.
            if self._has_news() or not guard._is_open(self):  # noqa: SLF001
                self._quiet = False
            return outcome.notes, None
        if wait <= 0:
            raise GuardUnavailable(guard.why_lost)
        return _NOTHING, wait

    @staticmethod
    def _pause_s(outcome: Outcome, now: int) -> float:
        return _LONGEST_WAIT_S if outcome.until is None else max(0.01, (outcome.until - now) / 1000)
