"""The guard of a process, with a thread that listens for what operators command, and the sessions under it.

They are one object in two parts: a session asks, before each step in its agent's thread; the guard hears.
"""

from __future__ import annotations

import asyncio
import atexit
import fnmatch
import functools
import inspect
import logging
import os
import threading
import time
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from eddy_client.guard.ack import ack_of
from eddy_client.guard.channel import MOST_ACKS, AlreadyApplied, Channel
from eddy_client.guard.command import Command, Note
from eddy_client.guard.control import SKEW_MS, Answer, Control, Outcome, State, skewed
from eddy_client.guard.errors import GuardUnavailable, SessionAborted
from eddy_client.guard.outgoing import Outgoing
from eddy_client.guard.retry import Retry
from eddy_client.protocol import PRESENCE_MS, Action, Status, standing
from eddy_client.texts import LONGEST_NAME, bounded

log = logging.getLogger("eddy_client.guard")

OnLost = str | Mapping[str, str]
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_NOTHING: tuple[Note, ...] = ()
_LONGEST_WAIT_S = 1.0
_STEP_S = 0.25
_MOST_COMMANDS = 100_000
_STALL_MS = 10_000
"""So long one round of the thread never takes."""


class Guard:
    """Lets operators pause, resume and end the sessions of this process, and pass messages to them.

    Nothing of it runs in the agent's own thread but the checks. Its own faults are logged and count as a lost
    channel; they never reach the agent.

    Args:
        new_channel: Makes the way to the operators, in the guard's thread.
        on_lost: What to do while no command can reach the process: `open` goes on, `closed` waits for
            `lost_wait` seconds and then refuses. By tool: `{"default": "open", "deploy_*": "closed"}`.
        stale_after: Seconds of silence after which the channel counts as lost.
        lost_wait: Seconds that a check waits for a lost channel where `on_lost` says `closed`.
        start_wait: Seconds that the first check of a session waits until earlier commands are known.
        guard_id: The name of a guard that comes back under it, as a hook does which runs for a moment. Such a
            guard does not report that it leaves. By default a guard has a name that no other has.
        clock: Milliseconds since 1970.

    Raises:
        ValueError: `on_lost` is neither `open` nor `closed`.
    """

    _stopping: threading.Event
    _thread: threading.Thread

    def __init__(
        self,
        new_channel: Callable[[], Channel],
        *,
        on_lost: OnLost = "open",
        stale_after: float = 30.0,
        lost_wait: float = 30.0,
        start_wait: float = 5.0,
        guard_id: str | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._on_lost = {"default": on_lost} if isinstance(on_lost, str) else {"default": "open", **on_lost}
        if not set(self._on_lost.values()) <= {"open", "closed"}:
            raise ValueError('on_lost must be "open" or "closed", or name tools with one of them each.')
        self._new_channel = new_channel
        self._stale_after, self._wait_s, self._start_wait = stale_after, lost_wait, start_wait
        self._name = guard_id
        self.now = clock
        self._may_close = "closed" in self._on_lost.values()
        self._begin()
        _living.add(self)

    @classmethod
    def kafka(
        cls,
        servers: str,
        *,
        key: str | bytes | Sequence[str | bytes] | None = None,
        topic_prefix: str = "",
        kafka: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Guard:
        """Return a guard that listens on Kafka. Needs the extra `guard`.

        Args:
            servers: Brokers, `host:port` separated by commas.
            key: `EDDY_COMMAND_KEY`. With it, commands without its signature are refused. While the key is
                changed, both keys: a command may have the signature of either.
            topic_prefix: As `EDDY_TOPIC_PREFIX` of the job.
            kafka: Options of librdkafka, such as `security.protocol`.
            options: As for `Guard`.

        Raises:
            ImportError: the extra is not installed.
        """
        from eddy_client.guard.kafka_channel import KafkaChannel, required

        required()
        given = () if key is None else (key,) if isinstance(key, (str, bytes)) else key
        keys = tuple(each.encode() if isinstance(each, str) else each for each in given)
        return cls(lambda: KafkaChannel(servers, keys, topic_prefix, dict(kafka or {})), **options)

    @classmethod
    def connect(cls, url: str, *, token: str, **options: Any) -> Guard:
        """Return a guard that listens to a console by HTTP, with the standard library alone.

        Args:
            url: The console, such as `https://console:8070`.
            token: The agent's token.
            options: As for `Guard`.
        """
        from eddy_client.guard.http_channel import HttpChannel

        return cls(lambda: HttpChannel(url, token), **options)

    def session(self, session_id: str, *, agent_id: str | None = None) -> GuardedSession:
        """Return a session. Use it with `with`, so that operators learn when it ends."""
        name = bounded(session_id, LONGEST_NAME).text
        agent = None if agent_id is None else bounded(agent_id, LONGEST_NAME).text
        with self._lock:
            session = GuardedSession(self, name, agent, self._skew)
            self._sessions.setdefault(name, weakref.WeakSet()).add(session)
            self._hand_over(session)
            session._known = self._channel is not None and self._channel.knows(name)
        return session

    @property
    def lost(self) -> bool:
        """Whether no command can reach this process now. From then on each check knows it."""
        with self._lock:
            return self._lost

    @property
    def heard_s(self) -> float:
        """Seconds since the operators' side was last known to be there."""
        return time.monotonic() - self._heard

    @property
    def why_lost(self) -> str:
        """Why a check is refused."""
        why = f" ({self._problem})" if self._problem else ""
        return f"No command can reach this agent: the guard heard nothing for {self.heard_s:.0f} s{why}."

    def close(self, within: float = 2.0) -> None:
        """End the sessions for the operators, send what waits, and stop listening."""
        if self._stopping.is_set():
            return
        for session in self._all():
            self._leave(session)
        self._deadline = time.monotonic() + within
        self._stopping.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(within + _STEP_S)

    # -- for its sessions ----------------------------------------------------------------------------------

    def _is_open(self, session: GuardedSession) -> bool:
        """Whether a check need not look at the channel."""
        return session._known and not (self._lost and self._may_close)

    def _lost_wait(self, session: GuardedSession, tool: str | None) -> float | None:
        """Return how long a check waits for the channel: None not at all, 0 no longer."""
        since, known, born = time.monotonic(), session._known, session._born
        if not known and not self._lost and since - born < self._start_wait:
            return self._start_wait - (since - born)
        if not self._lost and known:
            return None
        rule = self._on_lost["default"]
        for pattern, said in self._on_lost.items():
            if tool is not None and pattern != "default" and fnmatch.fnmatchcase(tool, pattern):
                rule = said
                break
        if rule == "open":
            return None
        return max(0.0, self._wait_s - (since - (self._lost_at or born)))

    def _attach(self, session: GuardedSession) -> None:
        self._ack(session, Status.ATTACHED, None, None)

    def _leave(self, session: GuardedSession) -> None:
        with self._lock:
            known = self._sessions.get(session.session_id)
            if known is None or session not in known:
                return
            known.discard(session)
            if not known:
                del self._sessions[session.session_id]
        if session._attached and self._name is None:
            self._ack(session, Status.DETACHED, None, None)

    def _answer(self, session: GuardedSession, answers: tuple[Answer, ...], now: int) -> None:
        for answer in answers:
            if answer.status == Status.APPLIED and answer.command.action == Action.INJECT_MESSAGE:
                # For a session that begins again in this process, before its ack has come back.
                with self._lock:
                    self._handed.setdefault(session.session_id, set()).add(answer.command.command_id)
            self._ack(session, answer.status, answer, now)

    # -- its thread ----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.guard_id = uuid.uuid4().hex if self._name is None else self._name
        self._lock = threading.RLock()
        self._sessions: dict[str, weakref.WeakSet[GuardedSession]] = {}
        self._commands: OrderedDict[tuple[str, int, int], Command] = OrderedDict()
        self._handed: dict[str, set[str]] = {}
        self._outgoing = Outgoing()
        self._heard = time.monotonic()
        self._skew = 0
        self._stepped = self.now()
        self._stalled = self._stepped - SKEW_MS - 1
        self._lost = False
        self._channel: Channel | None = None
        self._lost_at: float | None = None
        self._problem = ""
        self._retry = Retry()
        self._deadline = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="eddy-guard", daemon=True)
        self._thread.start()

    def _begin_in_child(self) -> None:
        """Begin again after a fork, if it was not closed: threads and connections do not come along."""
        if self._stopping.is_set():
            return
        sessions = self._all()
        self._begin()
        for session in sessions:
            session._attached = False
            session._lock = threading.Lock()
            session._quiet = session._known = False
            self._sessions.setdefault(session.session_id, weakref.WeakSet()).add(session)

    def _all(self) -> list[GuardedSession]:
        with self._lock:
            return [session for known in self._sessions.values() for session in known]

    def _run(self) -> None:
        channel: Channel | None = None
        greeted = time.monotonic()
        while not self._stopping.is_set():
            try:
                channel = self._channel = channel or self._new_channel()
                channel.watch([(each.session_id, each.agent_id) for each in self._all()])
                found = channel.step(_STEP_S)
                self._note_stall()
                for heard in found:
                    self._take(heard)
                self._send(channel)
                self._observe(channel)
                if channel.is_current:
                    self._retry.worked()
                if time.monotonic() - greeted >= PRESENCE_MS / 1000:
                    greeted = time.monotonic()
                    for session in self._all():
                        if session._attached:
                            self._attach(session)
            except Exception as error:  # noqa: BLE001, PERF203 - the agent must go on, whatever it is
                self._problem = f"{type(error).__name__}: {error}"[:200]
                self._closed(channel)
                channel = self._channel = None
                self._observe(None)
                self._stopping.wait(self._retry.failed())
        self._end(channel)

    def _end(self, channel: Channel | None) -> None:
        """Send what waits, as long as there is time; say how much was not sent."""
        if channel is not None:
            try:
                self._send(channel)
            except Exception as error:  # noqa: BLE001 - the agent must end, whatever it is
                log.warning("The end of the guard's channel failed: %r", error)
            self._closed(channel, max(0.0, self._deadline - time.monotonic()))
        if self._outgoing:
            log.warning("The guard ends; %d acknowledgements did not reach operators.", len(self._outgoing))

    def _closed(self, channel: Channel | None, within: float = 0.0) -> None:
        """Close a channel; what it has not sent, the next one will."""
        if channel is None:
            return
        try:
            self._outgoing.put_back(channel.close(within))
        except Exception as error:  # noqa: BLE001 - it is of no use any more
            log.debug("A lost channel could not be closed: %r", error)

    def _observe(self, channel: Channel | None) -> None:
        """Note whether the other side is there."""
        if channel is not None:
            self._heard = max(self._heard, channel.heard_at)
            for session in self._all():
                if not session._known and channel.knows(session.session_id):
                    session._known = True
                    session._wake()
        lost = time.monotonic() - self._heard > self._stale_after
        if lost == self._lost:
            return
        with self._lock:
            self._lost, self._lost_at = lost, time.monotonic() if lost else None
            for session in self._all():
                session._wake()
        if lost:
            log.warning("%s Agents go on, but for tools that on_lost closes.", self.why_lost)
        else:
            self._problem = ""
            log.info("The guard hears commands again.")

    def _note_stall(self) -> None:
        """Note when this process stood still, or its clock was set: what is read then may be old."""
        now = self.now()
        if not 0 <= now - self._stepped < _STALL_MS:
            self._stalled = now
        self._stepped = now

    def _take(self, heard: Command | AlreadyApplied) -> None:
        now = self.now()
        with self._lock:
            if isinstance(heard, AlreadyApplied):
                self._handed.setdefault(heard.session_id, set()).add(heard.command_id)
                return
            if abs(now - self._stalled) <= SKEW_MS:  # its age says nothing about the clocks
                heard = heard._replace(is_live=False)
            self._skew = skewed(heard, now, self._skew)
            self._commands[heard.command_id, heard.partition, heard.offset] = heard
            while self._commands:
                oldest = next(iter(self._commands.values()))
                if len(self._commands) <= _MOST_COMMANDS and oldest.expires_at > now + self._skew:
                    break
                self._commands.popitem(last=False)
            concerned = [
                (session, tuple(self._handed.get(session.session_id, ())))
                for session in self._all()
                if heard.concerns(session.session_id, session.agent_id)
            ]
        for session, handed in concerned:
            for command_id in handed:
                session._given(command_id)
            session._take(heard, now)

    def _hand_over(self, session: GuardedSession) -> None:
        """Give a session that begins what was commanded before."""
        for command_id in self._handed.get(session.session_id, ()):
            session._given(command_id)
        now = self.now()
        concerned = (
            each for each in self._commands.values() if each.concerns(session.session_id, session.agent_id)
        )
        for command in standing(concerned, now + self._skew):
            session._take(command._replace(is_live=False), now)

    def _send(self, channel: Channel) -> None:
        """Send acks, some at a time. What the other side took is not sent again if what follows fails."""
        while self._outgoing:
            acks = self._outgoing.take(MOST_ACKS)
            try:
                channel.send(acks)
            except Exception:
                self._outgoing.put_back(acks)
                raise
            self._retry.worked()

    def _ack(self, session: GuardedSession, status: str, answer: Answer | None, now: int | None) -> None:
        at = self.now() if now is None else now
        self._outgoing.put(ack_of(self.guard_id, session, status, answer, at))


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

    def hold(self, checkpoint: str | None = None, *, level: str | None = None) -> State:
        """Let what was commanded take effect without waiting, and return how the session stands.

        For an agent that does not wait while it is paused, but keeps a checkpoint and ends.

        Args:
            checkpoint: From where the agent will continue, for the operators.
            level: What the agent has seen to; if anything else is commanded by now, nothing takes effect.
        """
        if checkpoint is not None:
            self.checkpoint = checkpoint
        self._attach()
        now = self._guard.now()
        with self._lock:
            seen_to = level is None or self._control.peek(now) == level
            answers = self._control.check(now, hands_over=False).answers if seen_to else ()
        self._guard._answer(self, answers, now)
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

        return achecked if inspect.iscoroutinefunction(function) else checked  # type: ignore[return-value]

    def steps(self, iterable: Iterable[T]) -> Iterator[T]:
        """Check before each item. Notes are left for the next check."""
        for item in iterable:
            self.check(notes=False)
            yield item

    def close(self) -> None:
        """End the session for the operators."""
        self._guard._leave(self)

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
            self._guard._attach(self)

    def _has_news(self) -> bool:
        with self._lock:
            return self._control.has_news

    def _once(self, tool: str | None, notes: bool) -> tuple[tuple[Note, ...], float | None]:
        """Check once; return the notes, or none and how many seconds to wait at most."""
        guard = self._guard
        self._attach()
        # Before the check: what made all known has been taken in by then.
        wait = guard._lost_wait(self, tool)
        now = guard.now()
        with self._lock:
            outcome = self._control.check(now, hands_over=notes and wait is None)
            calm = self._control.is_calm
        guard._answer(self, outcome.answers, now)
        if outcome.level == "aborted":
            assert outcome.by is not None
            raise SessionAborted(outcome.by.reason, outcome.by.command_id)
        if outcome.level == "paused":
            return _NOTHING, self._pause_s(outcome, now)
        if wait is None:
            self._quiet = calm
            # A command that came, or a loss of the channel, may have set this to False just before us.
            if self._has_news() or not guard._is_open(self):
                self._quiet = False
            return outcome.notes, None
        if wait <= 0:
            raise GuardUnavailable(guard.why_lost)
        return _NOTHING, wait

    @staticmethod
    def _pause_s(outcome: Outcome, now: int) -> float:
        return _LONGEST_WAIT_S if outcome.until is None else max(0.01, (outcome.until - now) / 1000)


_living: weakref.WeakSet[Guard] = weakref.WeakSet()


def _after_fork() -> None:
    for guard in list(_living):
        guard._begin_in_child()


def _at_exit() -> None:
    for guard in list(_living):
        guard.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
