"""The network between one worker and the brokers: it can be slow, silent, or gone."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Slowness:
    """What every piece of data waits for."""

    delay_s: float
    bytes_per_s: float


class Link:
    """All connections of one worker: whatever it sends to a broker, and is sent, passes through here.

    Args:
        routes: Pairs of a port of the loopback interface to listen on, and the broker's port behind it.
    """

    def __init__(self, routes: Sequence[tuple[int, int]]) -> None:
        self._routes = routes
        self._servers: list[asyncio.Server] = []
        self._open: set[asyncio.Task[None]] = set()
        self._passable = asyncio.Event()
        self._passable.set()
        self._hanging: list[asyncio.Event] = []
        self._reachable = True
        self._slowness: Slowness | None = None
        #: Bytes that the worker was sent, by the number of the route.
        self.sent_to_worker = [0] * len(routes)

    @property
    def bootstrap(self) -> str:
        """Where the worker finds the brokers."""
        return ",".join(f"127.0.0.1:{port}" for port, _ in self._routes)

    async def open(self) -> None:
        """Begin to listen."""
        for number, (port, _) in enumerate(self._routes):

            def accept(reader: StreamReader, writer: StreamWriter, number: int = number) -> None:
                task = asyncio.create_task(self._connect(reader, writer, number))
                self._open.add(task)
                task.add_done_callback(self._open.discard)

            self._servers.append(await asyncio.start_server(accept, "127.0.0.1", port))

    async def close(self) -> None:
        """End every connection and listen no more."""
        for server in self._servers:
            server.close()
        await self._break()

    async def cut(self) -> None:
        """Break every connection, and every new one."""
        self._reachable = False
        await self._break()

    def silence(self) -> None:
        """Let nothing pass, and tell nobody: connections stay open, as when a cable is pulled.

        What an end has written meanwhile is still its own, as it would be in the send queue of its machine:
        if it resets the connection, that never arrives.
        """
        self._passable.clear()

    def hang(self) -> None:
        """Let nothing pass on the connections that are open; new ones work.

        So it is when something on the way forgets them, a firewall for one.
        """
        self._passable.clear()
        self._hanging.append(self._passable)
        self._passable = asyncio.Event()
        self._passable.set()

    def slow(self, slowness: Slowness) -> None:
        """Let everything wait."""
        self._slowness = slowness

    def heal(self) -> None:
        """Be as new; what was held back in silence passes now."""
        self._reachable = True
        self._slowness = None
        for passable in (self._passable, *self._hanging):
            passable.set()
        self._hanging.clear()

    async def _break(self) -> None:
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connect(self, reader: StreamReader, writer: StreamWriter, number: int) -> None:
        ends, passable = [writer], self._passable
        try:
            if not self._reachable:
                return
            there, broker = await asyncio.open_connection("127.0.0.1", self._routes[number][1])
            ends.append(broker)
            passing = {
                asyncio.create_task(self._pass_on(reader, broker, passable)),
                asyncio.create_task(self._pass_on(there, writer, passable, number)),
            }
            try:
                await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in passing:
                    task.cancel()
                await asyncio.gather(*passing, return_exceptions=True)
        except OSError:
            pass  # the broker is down: the worker's connection ends as well
        finally:
            for end in ends:
                end.transport.abort()

    async def _pass_on(
        self, reader: StreamReader, writer: StreamWriter, passable: asyncio.Event, sender: int | None = None
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK_BYTES):
                await passable.wait()
                if reader.exception() is not None:
                    return
                if sender is not None:
                    self.sent_to_worker[sender] += len(data)
                if (slowness := self._slowness) is not None:
                    await asyncio.sleep(slowness.delay_s + len(data) / slowness.bytes_per_s)
                writer.write(data)
                await writer.drain()
