"""The socket that hooks ask: one watch has it, and nothing that is sent to it ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from streams.cli.watch.hook_server import HookReply, HookServer
from streams.core.errors import ConfigurationError
from streams.formats.agent_hooks.asking import LONGEST_REQUEST, WAITS

Waits = Callable[[], None]


@asynccontextmanager
async def serving(path: Path, answer: Any = None) -> AsyncIterator[HookServer]:
    async def echoes(request: Mapping[str, Any], _waits: Waits) -> HookReply:
        if request.get("refuses"):
            raise ConfigurationError("It is not possible")
        return HookReply(str(request["says"]))

    server = HookServer(path, answer or echoes)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def asked(path: Path, request: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(request)
    if not request.endswith(b"\n"):
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

    async def never(_request: Mapping[str, Any], _waits: Waits) -> HookReply:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return HookReply("")

    async with serving(tmp_path / "s", never):
        _, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
        writer.write(b"{}\n")
        await begun.wait()
        writer.close()
        await ended.wait()


async def test_a_stop_lets_hooks_that_wait_go(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def never(_request: Mapping[str, Any], _waits: Waits) -> HookReply:
        begun.set()
        await asyncio.Event().wait()
        return HookReply("")

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


async def test_a_socket_of_a_watch_that_was_killed_stands_in_no_way(tmp_path: Path) -> None:
    left = await asyncio.start_unix_server(lambda _reader, _writer: None, str(tmp_path / "s"))
    left.close()
    await left.wait_closed()
    async with serving(tmp_path / "s"):
        assert await asked(tmp_path / "s", b'{"says": "on"}\n') == b"on\n"


async def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("precious")
    with pytest.raises(ConfigurationError, match="is no socket"):
        await HookServer(tmp_path / "s", None).start()  # type: ignore[arg-type]
    assert (tmp_path / "s").read_text() == "precious"


async def test_a_path_that_is_too_long_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="Name another path in EDDY_WATCH_SOCKET"):
        await HookServer(tmp_path / ("s" * 200), None).start()  # type: ignore[arg-type]


async def test_whoever_waits_is_told_so_and_the_reply_knows_whether_it_arrived(tmp_path: Path) -> None:
    goes_on, became = asyncio.Event(), list[str]()

    async def waits(_request: Mapping[str, Any], waits: Waits) -> HookReply:
        waits()
        await goes_on.wait()
        return HookReply("done", lambda: became.append("sent"), lambda: became.append("lost"))

    async with serving(tmp_path / "s", waits):
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
        writer.write(b"{}\n")
        assert await reader.readline() == WAITS
        goes_on.set()
        assert await reader.readline() == b"done\n"
        assert became == ["sent"]
        writer.close()
        await writer.wait_closed()


async def test_a_reply_to_somebody_who_has_gone_is_lost(tmp_path: Path) -> None:
    became = asyncio.Event()

    async def at_once(_request: Mapping[str, Any], _waits: Waits) -> HookReply:
        return HookReply("late", lost=became.set)

    async with serving(tmp_path / "s", at_once):
        _, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
        writer.write(b"{}\n")
        writer.close()
        await became.wait()


async def test_only_its_user_may_ask(tmp_path: Path) -> None:
    async with serving(tmp_path / "s"):
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600
