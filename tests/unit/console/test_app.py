"""The connections of the console: many of them keep no other from being answered."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from streams.console import app
from streams.console.app import served
from streams.console.composition import console_on
from streams.console.file_board import FileBoard
from streams.core.detectors.settings import DetectionSettings
from streams.core.errors import ConfigurationError
from tests.unit.console.auth.door_server import settings

LIMIT_S = 60.0

#: Connections that this console may have open.
MOST = 150

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[..., Awaitable[Connection]]


@pytest.fixture
async def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    monkeypatch.setattr(app, "MOST_CONNECTIONS", MOST)
    board = FileBoard("run.jsonl", "run.jsonl", DetectionSettings())
    async with served(console_on(settings(tmp_path, console_port=0), board, lambda: 0)) as address:
        yield address


@pytest.fixture
async def connect(address: str) -> AsyncIterator[Connect]:
    writers: list[asyncio.StreamWriter] = []

    async def connect(sent: bytes, local: str = "127.0.0.1") -> Connection:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", int(address.rpartition(":")[2]), local_addr=(local, 0)
        )
        writers.append(writer)
        writer.write(sent)
        return reader, writer

    yield connect
    for writer in writers:
        writer.transport.abort()


async def test_connections_that_send_nothing_keep_no_other_from_being_answered(connect: Connect) -> None:
    quiet, _ = await connect(b"GET", "127.0.0.2")
    idle = [await connect(b"") for _ in range(2 * MOST)]
    asking, _ = await connect(b"GET /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    async with asyncio.timeout(LIMIT_S):
        assert (await asking.read(-1)).startswith(b"HTTP/1.1 200")
        for reader, _ in idle[:MOST]:
            with suppress(ConnectionResetError):
                await reader.read(-1)
    assert not quiet.at_eof()
    assert not idle[-1][0].at_eof()


@pytest.mark.parametrize(
    "sent",
    [b"nonsense\r\n\r\n", b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n"],
    ids=["no HTTP", "long path"],
)
async def test_what_is_no_request_is_refused_without_a_word_in_the_log(
    connect: Connect, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    reader, _ = await connect(sent)
    async with asyncio.timeout(LIMIT_S):
        try:
            answer = await reader.read(-1)
        except ConnectionResetError:
            answer = b""  # before all was sent
    assert answer[9:12] in (b"400", b"")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_guard_may_name_a_thousand_sessions(connect: Connect) -> None:
    names = b"&".join(b"session=%032d&agent=%032d" % (each, each) for each in range(1_000))
    reader, _ = await connect(
        b"GET /login?" + names + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    async with asyncio.timeout(LIMIT_S):
        assert (await reader.read(-1)).startswith(b"HTTP/1.1 200")


async def test_a_port_that_is_taken_says_which_setting_chooses_another(address: str, tmp_path: Path) -> None:
    board = FileBoard("run.jsonl", "run.jsonl", DetectionSettings())
    port = int(address.rpartition(":")[2])
    with pytest.raises(ConfigurationError, match="EDDY_CONSOLE_PORT"):
        async with served(console_on(settings(tmp_path, console_port=port), board, lambda: 0)):
            pass
