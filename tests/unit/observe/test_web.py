"""What a worker answers over HTTP, asked over HTTP."""

import socket
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families
from yarl import URL

from streams.core.domain.level import Level
from streams.core.errors import ConfigurationError
from streams.core.native import NATIVE
from streams.observe.settings import WorkerSettings
from streams.observe.web import HealthServer
from streams.worker.job_metrics import WorkerMetrics

TOKEN = "a-token-of-sixteen"
DEFAULT_HOST = WorkerSettings.model_fields["web_host"].default


class Worker:
    """A worker's answers, to be changed."""

    def __init__(self) -> None:
        self.live: tuple[int, dict[str, Any]] = (200, {"ok": True, "detail": "no lag"})
        self.ready: tuple[int, dict[str, Any]] = (503, {"ok": False, "detail": "restoring state"})
        self.metrics = WorkerMetrics("1.2.3")
        self.asked: list[str] = []

    def session(self, session_id: str) -> tuple[int, dict[str, Any]]:
        self.asked.append(session_id)
        return 200, {"session_id": session_id, "agent_id": "<script>\u202e"}

    def verdict(self, session_id: str, deny: Level | None) -> tuple[int, dict[str, Any]]:
        self.asked.append(f"{session_id} from {deny}")
        return 200, {"allow": True}


def server_of(
    worker: Worker, host: str, port: int = 0, token: str | None = None, **limits: Any
) -> HealthServer:
    return HealthServer(
        host,
        port,
        live=lambda: worker.live,
        ready=lambda: worker.ready,
        metrics=worker.metrics.exposition,
        session=worker.session,
        verdict=worker.verdict,
        token=token,
        **limits,
    )


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
async def client(worker: Worker) -> AsyncIterator[aiohttp.ClientSession]:
    server = server_of(worker, DEFAULT_HOST)
    port = await server.start()
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
        yield session
    await server.stop()


async def test_it_answers_as_it_is_told_each_time(client: aiohttp.ClientSession, worker: Worker) -> None:
    async with client.get("/livez") as answer:
        assert (answer.status, await answer.json()) == worker.live
    async with client.get("/readyz") as answer:
        assert (answer.status, await answer.json()) == worker.ready
    worker.live, worker.ready = worker.ready, worker.live
    async with client.get("/livez") as answer:
        assert answer.status == 503
    async with client.get("/readyz") as answer:
        assert answer.status == 200


async def test_metrics_are_in_the_format_of_prometheus(client: aiohttp.ClientSession) -> None:
    async with client.get("/metrics") as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        families = {family.name: family for family in text_string_to_metric_families(await answer.text())}
    [sample] = families["eddy_build_info"].samples
    assert (sample.labels, sample.value) == ({"version": "1.2.3"}, 1)
    [sample] = families["eddy_native_core_info"].samples
    assert sample.labels == {"in_use": "yes" if NATIVE.in_use else "no", "why": NATIVE.why}


@pytest.mark.parametrize("path", ["/", "/livez/", "/tables", "/router"])
async def test_nothing_else_is_answered(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(path) as answer:
        assert answer.status == 404


async def test_nothing_can_be_changed(client: aiohttp.ClientSession) -> None:
    async with client.post("/livez") as answer:
        assert answer.status == 405


@pytest.mark.parametrize(
    ("path", "session_id"), [("s-1", "s-1"), ("a%2Fb%20c", "a/b c"), ("a/b", "a/b"), ("%E2%98%83", "☃")]
)
async def test_a_session_is_shown_whatever_its_id(
    client: aiohttp.ClientSession, worker: Worker, path: str, session_id: str
) -> None:
    async with client.get(URL(f"/sessions/{path}", encoded=True)) as answer:
        assert answer.status == 200
        assert (await answer.json())["session_id"] == session_id
    assert worker.asked == [session_id]


async def test_a_verdict_is_asked_for_from_a_level_on_whatever_the_id_of_the_session(
    client: aiohttp.ClientSession, worker: Worker
) -> None:
    for path in ("s-1/verdict", "a/b/verdict?deny=LOOP", "s-1/verdict?deny=warning"):
        async with client.get(f"/sessions/{path}") as answer:
            assert (answer.status, await answer.json()) == (200, {"allow": True})
    assert worker.asked == ["s-1 from None", "a/b from LOOP", "s-1 from WARNING"]
    async with client.get("/sessions/s-1/verdict?deny=x") as answer:
        assert (answer.status, "deny is WARNING or LOOP" in await answer.text()) == (400, True)


async def test_what_agents_wrote_is_escaped_and_not_kept_on_the_way(client: aiohttp.ClientSession) -> None:
    async with client.get("/sessions/s-1") as answer:
        assert answer.content_type == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert b"\\u202e" in await answer.read()


async def test_a_page_that_has_pointed_its_own_name_here_is_refused(
    client: aiohttp.ClientSession, worker: Worker
) -> None:
    async with client.get("/sessions/s-1", headers={"Host": "evil.example"}) as answer:
        assert answer.status == 403
    assert worker.asked == []


async def test_beyond_this_machine_sessions_need_a_token(worker: Worker) -> None:
    server = server_of(worker, "0.0.0.0")
    port = await server.start()
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/sessions/s-1") as answer,
        ):
            assert answer.status == 403
            assert "EDDY_WEB_TOKEN" in (await answer.json())["problem"]
    finally:
        await server.stop()
    assert worker.asked == []


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        ("Bearer wrong", 401),
        (f"Basic {TOKEN}", 401),
        (TOKEN, 401),
        ("Bearer \u2603", 401),
        (None, 401),
    ],
)
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
async def test_a_token_that_is_set_has_to_be_sent(
    worker: Worker, host: str, authorization: str | None, status: int
) -> None:
    server = server_of(worker, host, token=TOKEN)
    port = await server.start()
    headers = {} if authorization is None else {"Authorization": authorization}
    try:
        async with (
            aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
            session.get("/sessions/s-1", headers=headers) as answer,
        ):
            assert answer.status == status
            assert ("WWW-Authenticate" in answer.headers) == (status == 401)
        async with (
            aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
            session.get("/livez") as answer,
        ):
            assert answer.status == 200
    finally:
        await server.stop()


async def test_only_this_machine_is_answered_unless_told_otherwise(worker: Worker) -> None:
    assert DEFAULT_HOST == "127.0.0.1"
    server = server_of(worker, "127.0.0.1")
    port = await server.start()
    try:
        # The whole of 127.0.0.0/8 is this machine: an address the server was not told to listen on.
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=5)
    finally:
        await server.stop()


async def test_all_addresses_are_answered_when_told_so(worker: Worker) -> None:
    server = server_of(worker, "0.0.0.0")
    port = await server.start()
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.2:{port}/livez") as answer,
        ):
            assert answer.status == 200
    finally:
        await server.stop()


@pytest.mark.parametrize("host", ["127.0.0.1", "203.0.113.1"])
async def test_an_address_that_is_not_to_be_had_is_a_configuration_error(worker: Worker, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = server_of(worker, host, taken.getsockname()[1])
        with pytest.raises(ConfigurationError, match="EDDY_WEB_HOST and EDDY_WEB_PORT"):
            await server.start()


async def test_a_stopped_server_has_freed_its_port_and_can_be_stopped_again(worker: Worker) -> None:
    server = server_of(worker, "127.0.0.1")
    port = await server.start()
    await server.stop()
    await server.stop()
    again = server_of(worker, "127.0.0.1", port)
    assert await again.start() == port
    await again.stop()


async def test_the_chosen_port_is_in_the_log(worker: Worker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    server = server_of(worker, "127.0.0.1")
    port = await server.start()
    await server.stop()
    assert f"http://127.0.0.1:{port}" in caplog.text
