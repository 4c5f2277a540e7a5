"""Clients that keep connections open, over real sockets."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from streams.observe.connections import MOST_CONNECTIONS
from tests.unit.observe.test_web import Worker, server_of

LIMIT_S = 60.0
#: Too short for a test that looks at who is open: those have connections for as long as the test runs.
BRIEF_S = 0.3

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[..., Awaitable[Connection]]


@pytest.fixture
def life_s() -> float:
    return BRIEF_S


@pytest.fixture
async def connect(life_s: float) -> AsyncIterator[Connect]:
    worker = Worker()
    server = server_of(worker, "127.0.0.1", life_s=life_s)
    port = await server.start()
    writers: list[asyncio.StreamWriter] = []

    async def connect(sent: bytes, address: str = "127.0.0.1") -> Connection:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
        writers.append(writer)
        writer.write(sent)
        return reader, writer

    yield connect
    for writer in writers:
        writer.transport.abort()
    await server.stop()


async def ended(reader: asyncio.StreamReader) -> bytes:
    """Return what came before the server ended the connection."""
    async with asyncio.timeout(LIMIT_S):
        try:
            return await reader.read(-1)
        except ConnectionResetError:
            return b""


HALF_OPEN = [
    b"",
    b"GET",
    b"GET /livez HTTP/1.1\r\nHost: x",
    b"GET /livez HTTP/1.1\r\nHost: x\r\nA: b\r\n",
    b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc",
    b"POST /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc",
    b"GET /livez HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00",
]


@pytest.mark.parametrize("sent", HALF_OPEN, ids=range(len(HALF_OPEN)))
async def test_a_request_that_is_never_finished_is_ended(connect: Connect, sent: bytes) -> None:
    reader, _ = await connect(sent)
    await ended(reader)


async def test_a_client_that_sends_a_byte_now_and_then_is_ended(connect: Connect) -> None:
    reader, writer = await connect(b"GET /livez HTTP/1.1\r\n")

    async def trickle() -> None:
        while not writer.transport.is_closing():
            writer.write(b"a: b\r\n")
            await asyncio.sleep(BRIEF_S / 50)

    trickling = asyncio.create_task(trickle())
    await ended(reader)
    trickling.cancel()


async def test_one_request_is_answered_and_those_behind_it_are_not(connect: Connect) -> None:
    reader, _ = await connect(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 1_000)
    answer = await ended(reader)
    assert answer.count(b"HTTP/1.1") == 1
    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /livez HTTP/1.1\r\nA: " + b"a" * 100_000 + b"\r\n\r\n", b"400"),
        (b"GET /livez HTTP/1.1\r\n" + b"a: b\r\n" * 10_000 + b"\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
        (b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", b"405"),
    ],
    ids=["long path", "long header", "many headers", "no HTTP", "no page", "no such method"],
)
async def test_what_is_too_large_or_wrong_is_refused_without_a_word_in_the_log(
    connect: Connect, sent: bytes, status: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    reader, _ = await connect(sent)
    answer = await ended(reader)
    assert answer[9:12] in (status, b""), "or the connection was reset before all was sent"
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


class TestWhileManyAreOpen:
    @pytest.fixture
    def life_s(self) -> float:
        return 10 * LIMIT_S

    async def test_a_probe_is_answered_and_the_oldest_make_room(self, connect: Connect) -> None:
        half_open = [await connect(b"GET /livez HTTP/1.1\r\n") for _ in range(900)]
        probe, _ = await connect(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await ended(probe)).startswith(b"HTTP/1.1 200")
        for reader, _ in half_open[: 900 - MOST_CONNECTIONS]:
            await ended(reader)
        assert not half_open[-1][0].at_eof()

    async def test_a_client_with_one_connection_keeps_it_while_another_opens_many(
        self, connect: Connect
    ) -> None:
        quiet, _ = await connect(b"GET", "127.0.0.2")
        many = [await connect(b"") for _ in range(3 * MOST_CONNECTIONS)]
        for reader, _ in many[: 2 * MOST_CONNECTIONS]:
            await ended(reader)
        assert not quiet.at_eof()


async def test_a_server_that_stops_ends_what_is_open() -> None:
    server = server_of(Worker(), "127.0.0.1")
    port = await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /livez HTTP/1.1\r\n")
    async with asyncio.timeout(LIMIT_S):
        await server.stop()
    await ended(reader)
    writer.close()
