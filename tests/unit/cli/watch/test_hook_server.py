"""The socket that hooks ask: one watch has it, and nothing that is sent to it ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from streams.cli.watch.hook_server import HookServer
from streams.core.errors import ConfigurationError
from streams.formats.agent_hooks.asking import LONGEST_REQUEST


@asynccontextmanager
async def serving(path: Path, answer: Any = None) -> AsyncIterator[HookServer]:
    async def echoes(request: Mapping[str, Any]) -> str:
        if request.get("refuses"):
            raise ConfigurationError("It is not possible")
        return str(request["says"])

    server = HookServer(path, answer or echoes)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def asked(path: Path, request: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(request)
    writer.write_eof()
    try:
        return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


async def test_a_request_is_a_line_and_so_is_the_answer(tmp_path: Path) -> None:
    async with serving(tmp_path / "s"):
        answers = await asyncio.gather(*(asked(tmp_path / "s", b'{"says": %d}\n' % n) for n in range(20)))
    assert answers == [b"%d\n" % n for n in range(20)]


@pytest.mark.parametrize(
    "request_",
    [b"", b"{", b"[]\n", b"\xff\n", b'{"refuses": true}\n', b"x" * 3 * LONGEST_REQUEST],
    ids=["nothing", "half", "no object", "no text", "refused", "too long"],
)
async def test_what_cannot_be_answered_gets_no_line_and_the_next_is_answered(
    tmp_path: Path, request_: bytes
) -> None:
    async with serving(tmp_path / "s"):
        with suppress(ConnectionError):  # it had more to send
            assert await asked(tmp_path / "s", request_) == b""
        assert await asked(tmp_path / "s", b'{"says": "on"}\n') == b"on\n"


async def test_whoever_goes_away_is_not_waited_for(tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def never(_request: Mapping[str, Any]) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with serving(tmp_path / "s", never):
        _, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
        writer.write(b"{}\n")
        await begun.wait()
        writer.close()
        await ended.wait()


async def test_a_stop_lets_hooks_that_wait_go(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def never(_request: Mapping[str, Any]) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    async with serving(tmp_path / "s", never):
        waiting = asyncio.create_task(asked(tmp_path / "s", b"{}\n"))
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
        writer.write(b"{}\n")
        await begun.wait()
    assert await reader.read() == b""
    writer.close()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert not (tmp_path / "s").exists()


async def test_a_second_watch_is_refused_and_one_that_was_killed_stands_in_no_way(tmp_path: Path) -> None:
    async with serving(tmp_path / "s"):
        with pytest.raises(ConfigurationError, match="Another `eddy watch` answers"):
            await HookServer(tmp_path / "s", None).start()  # type: ignore[arg-type]
        assert await asked(tmp_path / "s", b'{"says": "on"}\n') == b"on\n"
    left = await asyncio.start_unix_server(lambda _reader, _writer: None, str(tmp_path / "s"))
    left.close()
    await left.wait_closed()
    async with serving(tmp_path / "s"):
        assert await asked(tmp_path / "s", b'{"says": "on"}\n') == b"on\n"


async def test_only_its_user_may_ask(tmp_path: Path) -> None:
    async with serving(tmp_path / "s"):
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600
