"""The link of a worker, with a server that echoes."""

import asyncio
import socket
import struct
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from tests.network import Link, Slowness
from tests.ports import own_port

_PATIENCE_SECONDS = 60.0


async def _echo(reader: StreamReader, writer: StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data)
    writer.close()


@pytest.fixture
async def link() -> AsyncIterator[Link]:
    """Yield a link to a server that echoes."""
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    made = Link([(own_port(), server.sockets[0].getsockname()[1])])
    await made.open()
    yield made
    await made.close()
    server.close()


async def connection(link: Link) -> tuple[StreamReader, StreamWriter]:
    host, port = link.bootstrap.split(":")
    return await asyncio.open_connection(host, int(port))


async def echoed(ends: tuple[StreamReader, StreamWriter], data: bytes) -> bytes:
    ends[1].write(data)
    return await asyncio.wait_for(ends[0].readexactly(len(data)), _PATIENCE_SECONDS)


async def test_what_is_sent_arrives_and_comes_back(link: Link) -> None:
    ends = await connection(link)
    assert await echoed(ends, b"hello") == b"hello"
    ends[1].transport.abort()


async def test_a_link_that_is_cut_ends_connections_and_refuses_others_until_it_is_healed(link: Link) -> None:
    ends = await connection(link)
    assert await echoed(ends, b"before") == b"before"
    await link.cut()
    others = await connection(link)
    for reader, writer in (ends, others):
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await echoed((reader, writer), b"cut")
        writer.transport.abort()
    link.heal()
    healed = await connection(link)
    assert await echoed(healed, b"after") == b"after"
    healed[1].transport.abort()


async def test_what_is_sent_in_silence_arrives_when_the_link_is_healed(link: Link) -> None:
    ends = await connection(link)
    assert await echoed(ends, b"before") == b"before"
    link.silence()
    waiting = asyncio.create_task(echoed(ends, b"late"))
    done, _ = await asyncio.wait([waiting], timeout=0.2)
    assert not done
    link.heal()
    assert await waiting == b"late"
    ends[1].transport.abort()


async def test_what_is_sent_in_silence_is_gone_with_a_connection_that_is_reset() -> None:
    arrived = bytearray()
    asked = asyncio.Event()

    async def take(reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(ConnectionResetError):
            while data := await reader.read(100):
                arrived.extend(data)
                asked.set()
        writer.close()

    async def turns() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    link = Link([(own_port(), server.sockets[0].getsockname()[1])])
    await link.open()
    _, writer = await connection(link)
    writer.write(b"before")
    await asyncio.wait_for(asked.wait(), _PATIENCE_SECONDS)
    link.silence()
    of_socket = writer.get_extra_info("socket")
    of_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.write(b"late")
    await turns()
    writer.transport.abort()
    await turns()
    link.heal()
    await asyncio.wait_for(asyncio.gather(*link._open), _PATIENCE_SECONDS)
    await turns()
    assert arrived == b"before"
    await link.close()
    server.close()


async def test_a_slow_link_delays_each_way(link: Link) -> None:
    ends = await connection(link)
    link.slow(Slowness(delay_s=0.1, bytes_per_s=1e9))
    before = asyncio.get_running_loop().time()
    assert await echoed(ends, b"slow") == b"slow"
    assert asyncio.get_running_loop().time() - before >= 0.2
    ends[1].transport.abort()


async def test_connections_that_hang_hold_back_what_passes_on_new_ones(link: Link) -> None:
    before = await connection(link)
    assert await echoed(before, b"one") == b"one"
    link.hang()
    before[1].write(b"two")
    after = await connection(link)
    assert await echoed(after, b"new") == b"new"
    link.heal()
    assert await asyncio.wait_for(before[0].readexactly(3), _PATIENCE_SECONDS) == b"two"
    for _, writer in (before, after):
        writer.transport.abort()
