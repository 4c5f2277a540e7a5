"""The guard: one for a process, with a thread that listens for what operators command."""

from __future__ import annotations

import atexit
import fnmatch
import logging
import os
import threading
import time
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eddy_client.guard.ack import ack_of
from eddy_client.guard.channel import MOST_ACKS, AlreadyApplied, Channel
from eddy_client.guard.command import Command
from eddy_client.guard.control import SKEW_MS, Answer, skewed, standing
from eddy_client.guard.outgoing import Outgoing
from eddy_client.guard.retry import Retry
from eddy_client.guard.session import GuardedSession
from eddy_client.texts import LONGEST_NAME, bounded

log = logging.getLogger("eddy_client.guard")

OnLost = str | Mapping[str, str]

_PRESENCE_S = 300.0
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
            session._known = self._channel is not None and self._channel.knows(name)  # noqa: SLF001
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
        return session._known and not (self._lost and self._may_close)  # noqa: SLF001 - the two are one

    def _lost_wait(self, session: GuardedSession, tool: str | None) -> float | None:
        """Return how long a check waits for the channel: None not at all, 0 no longer."""
        since, known, born = time.monotonic(), session._known, session._born  # noqa: SLF001 - the two are one
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
        self._ack(session, "attached", None, None)

    def _leave(self, session: GuardedSession) -> None:
        with self._lock:
            known = self._sessions.get(session.session_id)
            if known is None or session not in known:
                return
            known.discard(session)
            if not known:
                del self._sessions[session.session_id]
        if session._attached and self._name is None:  # noqa: SLF001 - the two are one
            self._ack(session, "detached", None, None)

    def _answer(self, session: GuardedSession, answers: tuple[Answer, ...], now: int) -> None:
        for answer in answers:
            if answer.status == "applied" and answer.command.action == "inject_message":
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
            session._attached = False  # noqa: SLF001
            session._lock = threading.Lock()  # noqa: SLF001
            session._quiet = session._known = False  # noqa: SLF001
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
                if time.monotonic() - greeted >= _PRESENCE_S:
                    greeted = time.monotonic()
                    for session in self._all():
                        if session._attached:  # noqa: SLF001
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
                if not session._known and channel.knows(session.session_id):  # noqa: SLF001 - the two are one
                    session._known = True  # noqa: SLF001
                    session._wake()  # noqa: SLF001
        lost = time.monotonic() - self._heard > self._stale_after
        if lost == self._lost:
            return
        with self._lock:
            self._lost, self._lost_at = lost, time.monotonic() if lost else None
            for session in self._all():
                session._wake()  # noqa: SLF001
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
                if _concerns(heard, session)
            ]
        for session, handed in concerned:
            for command_id in handed:
                session._given(command_id)  # noqa: SLF001
            session._take(heard, now)  # noqa: SLF001

    def _hand_over(self, session: GuardedSession) -> None:
        """Give a session that begins what was commanded before."""
        for command_id in self._handed.get(session.session_id, ()):
            session._given(command_id)  # noqa: SLF001
        now = self.now()
        concerned = (each for each in self._commands.values() if _concerns(each, session))
        for command in standing(concerned, now + self._skew):
            session._take(command._replace(is_live=False), now)  # noqa: SLF001 - it came some time ago

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


def _concerns(command: Command, session: GuardedSession) -> bool:
    if command.scope == "session":
        return command.target == session.session_id
    return command.scope == "all" or command.target == session.agent_id


_living: weakref.WeakSet[Guard] = weakref.WeakSet()


def _after_fork() -> None:
    for guard in list(_living):
        guard._begin_in_child()  # noqa: SLF001 - of this module


def _at_exit() -> None:
    for guard in list(_living):
        guard.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
