"""Guards over HTTP: a console on a broker hands commands to the real client, and publishes its answers."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from eddy_client import Guard, SessionAborted
from eddy_client.guard import http_channel
from eddy_client.guard.http_channel import HttpChannel
from eddy_client.protocol import Action

from schemas.codec import Codec
from streams.console import guard_api
from streams.control.outcome import Ack
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers
from tests.integration.agents_console import KEY, agents_console, issue
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.network import Link

pytestmark = pytest.mark.integration

TOKEN = "the-token-of-an-agent"


class Counter:
    """A console with guards, and an operator."""

    def __init__(self, brokers: Brokers, url: str) -> None:
        self._brokers = brokers
        self.url = url

    async def issue(self, action: Action, key: str | None = KEY, message: str | None = None) -> str:
        return await issue(self._brokers, action, "s-17", key, message)

    async def has(self, wanted: Callable[[Ack], bool]) -> bool:
        return any(map(wanted, await self.acks()))

    async def acks(self) -> list[Ack]:
        decoder = Codec.bundled().decoder("session-command-acks-value")
        return [
            Ack.of(decoder.decode(each.value, tuple(each.headers)))
            async for each in self._brokers.read(Topic.SESSION_COMMAND_ACKS)
        ]


@pytest.fixture
async def counter(stage: Stage, tmp_path: Path) -> AsyncIterator[Counter]:
    async with opened(stage.broker.bootstrap, tmp_path) as counter:
        yield counter


@asynccontextmanager
async def opened(bootstrap: str, tmp_path: Path) -> AsyncIterator[Counter]:
    """Open a console with guards on these brokers."""
    async with agents_console(bootstrap, tmp_path, {"coder-*": TOKEN}) as (brokers, url):
        yield Counter(brokers, url)


async def test_a_guard_over_http_obeys_what_is_signed_and_answers(counter: Counter) -> None:
    steps, notes, ended = 0, list[str](), list[str]()
    enough = threading.Event()
    guard = Guard.connect(counter.url, token=TOKEN, start_wait=PATIENCE_SECONDS)

    def work() -> None:
        nonlocal steps
        try:
            with guard.session("s-17", agent_id="coder-7") as session:
                while not enough.wait(0.01):
                    notes.extend(note.text for note in session.check())
                    steps += 1
        except SessionAborted as aborted:
            ended.append(aborted.command_id)

    async def answered(command_id: str, status: str) -> None:
        def is_answer(ack: Ack) -> bool:
            return (ack.command_id, ack.status) == (command_id, status)

        await until(lambda: counter.has(is_answer), PATIENCE_SECONDS, f"an ack that is {status}")

    agent = threading.Thread(target=work)
    agent.start()
    try:
        unsigned = await counter.issue(Action.ABORT, key=None)
        await answered(unsigned, "rejected")
        foreign = await counter.issue(Action.ABORT, key="a key that nobody has given")
        await answered(foreign, "rejected")
        note = await counter.issue(Action.INJECT_MESSAGE, message="Look at the test first.")
        await answered(note, "applied")
        pause = await counter.issue(Action.PAUSE)
        await answered(pause, "applied")
        stood = steps
        resume = await counter.issue(Action.RESUME)
        await answered(resume, "applied")
        await until(lambda: steps > stood, PATIENCE_SECONDS, "another step")
        abort = await counter.issue(Action.ABORT)
        await answered(abort, "applied")
    finally:
        enough.set()
        await asyncio.to_thread(guard.close)
        await asyncio.to_thread(agent.join)
    assert (notes, ended) == (["Look at the test first."], [abort])
    answers = {(ack.command_id, ack.status) for ack in await counter.acks()}
    assert {(unsigned, "applied"), (foreign, "applied")}.isdisjoint(answers)


async def test_an_ack_that_is_refused_keeps_no_other_back(
    counter: Counter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http_channel.log, "filters", [])  # it says so once a minute
    acks = [
        {"id": str(number), "session_id": f"s-{number}", "agent_id": agent, "at": 1, "guard_id": "g", **said}
        for number, (agent, said) in enumerate(
            [
                ("coder-7", {"status": "attached"}),
                ("writer-1", {"status": "attached"}),
                ("coder-7", {"status": "attached", "detail": "\ud800"}),
                ("coder-7", {"status": "detached"}),
            ]
        )
    ]
    await asyncio.to_thread(HttpChannel(counter.url, TOKEN).send, acks)
    assert {ack.session_id for ack in await counter.acks()} == {"s-0", "s-3"}
    refused, garbled = (
        record.getMessage() for record in caplog.records if record.name == http_channel.log.name
    )
    assert refused.startswith(
        "An acknowledgement (attached, session s-1) is left out: the console answers 403: "
        "This session is not yours. "
    )
    assert "session s-2) is left out: the console answers 400: " in garbled
    with pytest.raises(OSError, match="answers 401"):
        await asyncio.to_thread(HttpChannel(counter.url, "another token").send, acks)


async def test_a_console_that_is_cut_off_from_the_brokers_does_not_say_that_nothing_is_commanded(
    linked_stage: tuple[Stage, Link], tmp_path: Path
) -> None:
    stage, link = linked_stage
    async with (
        opened(stage.broker.bootstrap, tmp_path) as counter,
        asyncio.timeout(PATIENCE_SECONDS),
        aiohttp.ClientSession(counter.url, headers={"Authorization": f"Bearer {TOKEN}"}) as session,
    ):
        asked = {"params": {"session": "s-17", "agent": "coder-7"}}
        async with session.get("/api/guard/stream", **asked) as stream:
            await stream.content.readuntil(b"event: current\n")
            await link.cut()
            await stream.content.read()  # it ends
        async with session.get("/api/guard/stream", **asked) as refused:
            assert refused.status == 503
            assert "The brokers do not answer" in await refused.text()
        async with session.get("/readyz") as unready:
            assert unready.status == 503
            assert "no broker has answered for " in await unready.text()
        link.heal()
        while True:
            async with session.get("/api/guard/stream", **asked) as stream:
                if stream.status == 200:
                    await stream.content.readuntil(b"event: current\n")
                    break
        await until(lambda: is_ready(session), PATIENCE_SECONDS, "a console that is ready again")


async def is_ready(session: aiohttp.ClientSession) -> bool:
    async with session.get("/readyz") as answer:
        return answer.status == 200


async def test_a_stream_without_commands_says_that_it_is_there(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard_api, "_BEAT_S", 0.7)  # longer than a poll of the feed, which wakes the stream
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        aiohttp.ClientSession(counter.url, headers=headers) as session,
        session.get("/api/guard/stream", params={"session": "s-17", "agent": "coder-7"}) as stream,
    ):
        await stream.content.readuntil(b"event: current\n")
        await stream.content.readuntil(b"event: beat\n")


async def test_a_guard_that_comes_back_before_the_console_has_read_its_answers_hears_them(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a hook does, which is a process of its own for each call of a tool."""
    monkeypatch.setattr(guard_api.ReadCommands, "given", lambda *_: [])  # it reads twice a second
    said_by = {"session_id": "s-17", "agent_id": "coder-7", "guard_id": "g"}
    ack = {"id": "1", "command_id": "c-1", "status": "applied", "at": 1, **said_by}
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        aiohttp.ClientSession(counter.url, headers={"Authorization": f"Bearer {TOKEN}"}) as session,
    ):
        posted = await session.post("/api/guard/acks", json={"acks": [ack]})
        assert posted.status == 204, await posted.text()
        asked = {"params": {"session": "s-17", "agent": "coder-7"}}
        async with session.get("/api/guard/stream", **asked) as stream:
            said = await stream.content.readuntil(b"event: current\n")
    assert b'event: given\ndata: {"session_id":"s-17","command_id":"c-1"}\n' in said


@pytest.mark.parametrize(
    ("token", "agent", "status"),
    [("wrong", "coder-7", 401), (TOKEN, "writer-1", 403), (TOKEN, "", 403)],
)
async def test_a_token_is_for_its_own_agents(counter: Counter, token: str, agent: str, status: int) -> None:
    ack: dict[str, Any] = {"id": "1", "session_id": "s-1", "status": "attached", "at": 1, "guard_id": "g"}
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(counter.url, headers=headers) as session:
        listens = await session.get("/api/guard/stream", params={"session": "s-1", "agent": agent})
        assert listens.status == status
        speaks = await session.post("/api/guard/acks", json={"acks": [{**ack, "agent_id": agent or None}]})
        assert speaks.status == status
    assert await counter.acks() == []


@pytest.mark.parametrize("body", ["[]", "{", '{"acks": 1}', '{"acks": [{}]}', '{"acks": [1]}'])
async def test_what_is_no_ack_is_refused(counter: Counter, body: str) -> None:
    async with aiohttp.ClientSession(counter.url, headers={"Authorization": f"Bearer {TOKEN}"}) as session:
        answer = await session.post("/api/guard/acks", data=body)
        assert answer.status == 400, await answer.text()
