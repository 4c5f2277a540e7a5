"""A worker asked where a session stands, over HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from streams.core.errors import ConfigurationError
from streams.core.policy.standing import standing
from streams.observe.web import HealthServer
from streams.operate.explain.explanation import Explanation
from streams.operate.explain.verdict import verdict_sentence
from streams.operate.explain.worker_request import WorkerUnreachableError, standing_at
from tests.stream import Stream, decision_log, repeated

TOKEN = "a-token-of-sixteen"
Serve = Callable[..., Awaitable[str]]


def shown(session_id: str) -> tuple[int, dict[str, Any]]:
    """Answer as a worker that has one session."""
    if session_id != "a/b ☃":
        return 404, {"problem": "no such session\x1b[2J"}
    return 200, {"session_id": session_id}


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    servers = []

    async def start(token: str | None = None) -> str:
        server = HealthServer(
            "127.0.0.1",
            0,
            live=lambda: (200, {}),
            ready=lambda: (200, {}),
            metrics=lambda: b"",
            session=shown,
            token=token,
        )
        servers.append(server)
        return f"http://127.0.0.1:{await server.start()}"

    yield start
    for server in servers:
        await server.stop()


async def test_a_session_is_asked_for_by_its_id_whatever_that_is(serve: Serve) -> None:
    assert await standing_at(await serve(), "a/b ☃", None) == {"session_id": "a/b ☃"}
    assert await standing_at(f"{await serve()}/", "a/b ☃", None) == {"session_id": "a/b ☃"}


async def test_what_the_worker_says_is_passed_on_safe_to_print(serve: Serve) -> None:
    with pytest.raises(ConfigurationError, match=r"says: no such session\\x1b\[2J\.$"):
        await standing_at(await serve(), "s1", None)


async def test_the_token_is_sent(serve: Serve) -> None:
    worker = await serve(TOKEN)
    assert await standing_at(worker, "a/b ☃", TOKEN) == {"session_id": "a/b ☃"}
    with pytest.raises(ConfigurationError, match="EDDY_WEB_TOKEN"):
        await standing_at(worker, "a/b ☃", None)


async def test_a_worker_that_is_not_there_is_unreachable_and_the_reason_is_a_word() -> None:
    with pytest.raises(WorkerUnreachableError, match=r"answer \(Connect call failed .*EDDY_WEB_HOST"):
        await standing_at("http://127.0.0.1:1", "s1", None)


@pytest.mark.parametrize("address", ["worker-1", "http://", "ftp://127.0.0.1/"])
async def test_what_is_no_address_is_said_so(address: str) -> None:
    with pytest.raises((ConfigurationError, WorkerUnreachableError), match="address"):
        await standing_at(address, "s1", None)


async def test_something_else_that_answers_is_no_worker() -> None:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<html>", content_type="text/html")

    application = web.Application()
    application.add_routes([web.get("/{path:.*}", page)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        with pytest.raises(WorkerUnreachableError):
            await standing_at(f"http://127.0.0.1:{runner.addresses[0][1]}", "s1", None)
    finally:
        await runner.cleanup()


def said(*values: dict[str, Any]) -> str:
    """The sentence that the standing alone gives."""
    stream = Stream()
    stream.run(list(values))
    return verdict_sentence(Explanation("s1"), standing(stream.sessions["s1"], stream.settings))


def test_the_standing_alone_tells_why() -> None:
    failing = {"tool": "search", "error": "no match"}
    assert said(*repeated(4, **failing)) == (
        "The session is considered looping: R1 counts 4 (search), since 22:13:20 UTC."
    )
    assert said(*repeated(3, **failing)) == (
        "The session is not considered looping, but it may become a loop: "
        "R1 counts 3 (search), since 22:13:20 UTC."
    )
    came_back = [decision_log(tool=tool, status="success", number=n) for n, tool in enumerate("abcdbad")]
    assert said(*came_back) == (
        "The session is not considered looping: no episode is open; the nearest is R7 1.5 of 3."
    )
    assert said(decision_log(terminal=True)) == "The session has ended, and nothing of it is kept."
