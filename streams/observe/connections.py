"""The connections of a web server: none stays for too long, and there are never many.

A probe, a scrape and a lookup each take one short request. A client that opens connections and sends
nothing, sends slowly, or does not read its answer must keep neither the others from being answered nor
memory and file descriptors from the job.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

#: All of a connection: to send the request, to answer it, to read the answer.
LIFE_S: Final = 10.0

#: At the same time. One more ends the oldest one of the client that has most.
MOST_CONNECTIONS: Final = 64

#: Between accepting a connection and its having a transport.
_CONNECTING_S: Final = 5.0


class Connections:
    """Makes the protocol of each connection of a web server.

    Args:
        server: Makes those of aiohttp.
        life_s: Seconds after which a connection is ended, whatever it does.
        most: How many there may be.
    """

    def __init__(self, server: web.Server, *, life_s: float = LIFE_S, most: int = MOST_CONNECTIONS) -> None:
        self._server = server
        self._life_s = life_s
        self._most = most
        self._loop = asyncio.get_running_loop()
        #: When each connection began, oldest first; some have ended since.
        self._began: dict[RequestHandler, float] = {}
        self._sweep: asyncio.TimerHandle | None = None

    def __call__(self) -> RequestHandler:
        """Return the protocol of a new connection, for `asyncio.loop.create_server`."""
        now = self._loop.time()
        self._forget_ended(now)
        self._make_room()
        protocol = self._server()
        self._began[protocol] = now
        if self._sweep is None:
            self._sweep = self._loop.call_later(self._life_s / 10, self._end_old)
        return protocol

    def close(self) -> None:
        """Look after the connections no more."""
        if self._sweep is not None:
            self._sweep.cancel()

    def _open(self) -> list[tuple[RequestHandler, asyncio.BaseTransport]]:
        return [
            (protocol, transport)
            for protocol in self._began
            if (transport := protocol.transport) is not None and not transport.is_closing()
        ]

    def _make_room(self) -> None:
        connections = self._open()
        if len(connections) < self._most:
            return
        addresses = [_address(transport) for _, transport in connections]
        ((busiest, _),) = Counter(addresses).most_common(1)
        protocol, _ = connections[addresses.index(busiest)]
        self._end(protocol)

    def _end_old(self) -> None:
        now = self._loop.time()
        connections = self._open()
        for protocol, _ in connections:
            if now - self._began[protocol] > self._life_s:
                self._end(protocol)
        self._forget_ended(now)
        self._sweep = self._loop.call_later(self._life_s / 10, self._end_old) if self._began else None

    def _forget_ended(self, now: float) -> None:
        # One that is not connected yet has no transport either.
        youngest = min(self._life_s / 10, _CONNECTING_S)
        self._began = {
            protocol: began
            for protocol, began in self._began.items()
            if protocol.transport is not None or now - began < youngest
        }

    def _end(self, protocol: RequestHandler) -> None:
        transport = protocol.transport
        if transport is not None:
            # Not closed: that would wait until the client has read everything.
            transport.abort()


def _address(transport: asyncio.BaseTransport) -> str:
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) else ""
