"""The console's side of guards that use HTTP: a stream of commands for their sessions, and their acks."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson
from aiohttp import web
from eddy_client.protocol import HEADER, LONGEST_MS, Status, place, refusal, standing

from streams.console.app import problem
from streams.console.auth import AgentToken
from streams.console.console import Console
from streams.console.live import frame
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import CommandRow
from streams.console.topic_follower import TopicFollower
from streams.control.command import MalformedError
from streams.control.outcome import Ack
from streams.control.publisher import CommandPublisher
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError

MOST_TOGETHER: Final = 200
"""Acks in one request."""

MOST_SESSIONS: Final = 1_000
MOST_STREAMS: Final = 1_000

_MOST_POSTED: Final = 10_000
"""Sessions of which it is remembered what was posted."""

_BEAT_S: Final = 10.0
_PHASES: Final = 16
_CONTROL: Final = (Topic.SESSION_COMMANDS, Topic.SESSION_COMMAND_ACKS)


@dataclass(frozen=True, slots=True)
class ReadCommands:
    """What the console has read of commands and of who obeys them."""

    model: ReadModel
    feed: TopicFollower
    clock: Callable[[], int]

    def is_complete(self) -> bool:
        """Tell whether the feed has reached the end, and went back as far as a command may last."""
        since = self.feed.history_from
        return all(map(self.feed.is_at_end, _CONTROL)) and (
            since is None or since <= self.clock() - LONGEST_MS
        )

    def silent_ms(self) -> int | None:
        """Ask the feed."""
        return self.feed.silent_ms(*_CONTROL)

    def agent_of(self, session_id: str) -> str | None:
        """Return the agent of a session."""
        case = self.model.cases.get(session_id)
        return None if case is None else case.session.agent_id

    def commands(self, session_id: str, agent_id: str | None) -> Sequence[CommandRow]:
        """Return the commands that count, in the order of their places."""
        now, case = self.clock(), self.model.cases.get(session_id)
        scopes = [{} if case is None else case.commands]
        scopes += [self.model.holds.get(key, {}) for key in ("all", f"agent/{agent_id}")]
        found = [row for commands in scopes for row in standing(commands.values(), now)]
        return sorted(found, key=place)

    def given(self, session_id: str) -> Sequence[str]:
        """Return the commands that a guard has applied."""
        case = self.model.cases.get(session_id)
        acks = () if case is None else case.acks.values()
        return [each.command_id for each in acks if each.status == "applied"]

    def since(self, count: int) -> Collection[str] | None:
        """Return the sessions that got a command since there were so many, None if it may be any session."""
        return self.model.command_log.since(count)

    @property
    def count(self) -> int:
        """How many commands were read so far."""
        return self.model.command_log.count

    @contextmanager
    def listening(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call back whenever the feed has folded something."""
        self.feed.listeners.append(wake)
        try:
            yield
        finally:
            self.feed.listeners.remove(wake)


class WatchedSession(NamedTuple):
    """A session that a guard listens for, and the agent it says it is."""

    session_id: str
    agent_id: str | None


class GuardApi:
    """What guards are answered with.

    Args:
        commanded: What the console has read.
        publisher: Publishes what guards acknowledge.
        key: `EDDY_COMMAND_KEY`: guards reject a command without its signature. None lets them obey every one.
    """

    def __init__(
        self, commanded: ReadCommands, publisher: CommandPublisher, key: bytes | None = None
    ) -> None:
        self.commanded = commanded
        self.publisher = publisher
        self._key = key
        self.streams = 0
        #: What guards have posted as applied: one may come back before the console has read its own record.
        self._posted: OrderedDict[str, set[str]] = OrderedDict()

    async def take(self, acks: Sequence[Ack]) -> None:
        """Publish what guards answer.

        Raises:
            EddyError: it cannot be published. What was handed over was so all the same.
        """
        for ack in acks:
            if ack.status == Status.APPLIED and ack.command_id is not None:
                self._posted.setdefault(ack.session_id, set()).add(ack.command_id)
                self._posted.move_to_end(ack.session_id)
        while len(self._posted) > _MOST_POSTED:
            self._posted.popitem(last=False)
        await self.publisher.acknowledge(acks)

    def given(self, session_id: str) -> set[str]:
        """Return the commands that a guard of a session has applied."""
        return self._posted.get(session_id, set()).union(self.commanded.given(session_id))

    def refusal(self, row: CommandRow) -> str | None:
        """Return why no guard may obey a command, None if the console has no key or it is signed with it."""
        if self._key is None:
            return None
        headers = [(HEADER, row.mac)] if row.mac is not None else []
        return refusal(row.value, headers, [self._key])

    def may(self, agent: AgentToken, watched: WatchedSession) -> bool:
        """Tell whether a token may watch over a session: as far as it is known, and as the guard says."""
        known = self.commanded.agent_of(watched.session_id)
        names = {each for each in (known, watched.agent_id) if each is not None} or {""}
        return all(agent.may_be(name) for name in names)

    def news(self, watched: Sequence[WatchedSession], sent: set[str], *, is_live: bool) -> bytes:
        """Return the commands that were not sent yet as events, and note them as sent."""
        rows = {
            row.command_id: row
            for session_id, agent_id in watched
            for row in self.commanded.commands(session_id, agent_id or self.commanded.agent_of(session_id))
            if row.command_id not in sent
        }
        frames = b""
        for row in sorted(rows.values(), key=lambda each: (each.partition, each.offset)):
            frames += frame("command", _event(row, is_live=is_live, refusal=self.refusal(row)))
            sent.add(row.command_id)
        return frames


def routes(console: Console, door: GuardApi) -> Sequence[web.RouteDef]:
    """Return the routes for guards, which `Access` lets agents through to."""

    async def stream(request: web.Request) -> web.StreamResponse:
        agent, watched = agent_asking(console, request), _watched(request)
        if other := next((each for each in watched if not door.may(agent, each)), None):
            return foreign(console, request, other.session_id)
        if door.streams >= MOST_STREAMS:
            return problem(
                console, request, 503, "Too many guards listen", f"{MOST_STREAMS} are possible.", "Use Kafka."
            )
        if (silent := door.commanded.silent_ms()) is not None:
            return cut_off(console, request, silent)
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        await response.prepare(request)
        door.streams += 1
        try:
            with suppress(ConnectionError):  # a guard that ends does not say so
                await _follow(console, request, response, door, watched)
        finally:
            door.streams -= 1
        return response

    async def acks(request: web.Request) -> web.StreamResponse:
        agent, found = agent_asking(console, request), _acks(await request.read())
        for each in found:
            if not door.may(agent, WatchedSession(each.session_id, each.agent_id)):
                return foreign(console, request, each.session_id)
        await door.take(found)
        return web.Response(status=204)

    return [web.get("/api/guard/stream", stream), web.post("/api/guard/acks", acks)]


async def _follow(
    console: Console,
    request: web.Request,
    response: web.StreamResponse,
    door: GuardApi,
    watched: Sequence[WatchedSession],
) -> None:
    """Send what is in force, then what comes, until the guard leaves, its token ends or brokers are silent.

    A stream that went on without brokers would tell the guard that nothing is commanded.
    """
    sent: set[str] = set()
    is_current = False
    woken = asyncio.Event()
    time = asyncio.get_running_loop().time
    # Streams that begin together are not looked through together.
    beat_at = time() + _BEAT_S * (1 + door.streams % _PHASES) / _PHASES
    # Which agent's holds concern them is known once they have written something.
    unnamed = [each.session_id for each in watched if each.agent_id is None]
    looked: tuple[object, ...] = ()
    read = 0
    with door.commanded.listening(woken.set):
        while True:
            woken.clear()
            agent = console.access.agent(request)
            if agent is None or door.commanded.silent_ms() is not None:
                return
            is_due = time() >= beat_at
            before, looked = looked, (agent, [door.commanded.agent_of(each) for each in unnamed])
            fresh = None if is_due or before != looked else door.commanded.since(read)
            concerned = watched if fresh is None else [each for each in watched if each.session_id in fresh]
            if concerned and not all(door.may(agent, each) for each in watched):
                return
            frames = b""
            if is_current:
                read = door.commanded.count
                frames = door.news(concerned, sent, is_live=True)
            elif door.commanded.is_complete():
                read = door.commanded.count
                for each in watched:
                    for command_id in sorted(door.given(each.session_id)):
                        frames += frame("given", {"session_id": each.session_id, "command_id": command_id})
                frames += door.news(watched, sent, is_live=False) + frame("current", {})
                is_current = True
            if not frames and is_due:
                frames = frame("beat", {})
            if frames:
                await response.write(frames)
                beat_at = time() + _BEAT_S
            # A feed wakes it twice a second, whether there were records or not.
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), beat_at - time())


def _event(row: CommandRow, *, is_live: bool, refusal: str | None) -> dict[str, Any]:
    return {
        "fields": orjson.loads(row.body),
        "partition": row.partition,
        "offset": row.offset,
        "written_at": row.ts,
        "is_live": is_live,
        "refusal": refusal,
    }


def agent_asking(console: Console, request: web.Request) -> AgentToken:
    """Return the agent whose token a request has.

    Raises:
        HTTPUnauthorized: its line has left the file since the door let it through.
    """
    agent = console.access.agent(request)
    if agent is None:
        raise web.HTTPUnauthorized
    return agent


def _watched(request: web.Request) -> list[WatchedSession]:
    """Return the sessions of a request.

    Raises:
        ConfigurationError: there is none, there are too many, or an agent is missing.
    """
    sessions, agents = request.query.getall("session", []), request.query.getall("agent", [])
    if not sessions or len(sessions) > MOST_SESSIONS or len(agents) != len(sessions):
        raise ConfigurationError(
            f"Name 1 to {MOST_SESSIONS:,} sessions, and for each in the same order its agent: "
            "?session=s-17&agent=coder-7. Leave the agent empty if there is none."
        )
    return [WatchedSession(*each) for each in zip(sessions, (agent or None for agent in agents), strict=True)]


def _acks(body: bytes) -> list[Ack]:
    """Return the acks of a request.

    Raises:
        ConfigurationError: they are none.
    """
    try:
        given = orjson.loads(body)["acks"]
        if not isinstance(given, list) or len(given) > MOST_TOGETHER:
            raise ConfigurationError(f'Send {{"acks": [...]}} with at most {MOST_TOGETHER} of them.')
        return [Ack.of(each) for each in given]
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, MalformedError) as error:
        raise ConfigurationError(f"These are no acks: {error}.") from error


def cut_off(console: Console, request: web.Request, silent_ms: int) -> web.Response:
    """Return the answer while no broker says what is commanded."""
    return problem(
        console,
        request,
        503,
        "The brokers do not answer",
        f"They have said nothing for {silent_ms // 1_000} s, so what is commanded now is not known.",
        "Try again in a moment. `eddy doctor` shows what each broker says.",
    )


def foreign(console: Console, request: web.Request, session_id: str) -> web.Response:
    """Return the answer about a session of another agent."""
    return problem(
        console,
        request,
        403,
        "This session is not yours",
        f"The token is not for the agent of the session {session_id[:200]}.",
        "Check the pattern of agent_id in EDDY_CONSOLE_AGENT_TOKENS.",
    )
