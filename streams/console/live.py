"""Pages that change while they are looked at: every view computed once a tick, and only what differs sent.

What is sent are states, not events: a connection that was skipped, or comes again, is sent what differs from
what it shows. So memory for a connection is bounded by its pages, and a storm costs two frames a second.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import orjson
from aiohttp import web

from streams.console.auth import Identity
from streams.console.console import Console
from streams.console.view import PageView
from streams.core.errors import EddyError

log = logging.getLogger(__name__)

TICK_S: Final = 0.5
MOST_PAGES: Final = 500
MOST_VIEWS: Final = 16
_SILENT_S: Final = 15.0
_STUCK_S: Final = 30.0
_LONGEST_QUERY: Final = 4_000
_ROW, _PART = "row", "part"

_Place = tuple[str, str]
Compute = Callable[[Console, Mapping[str, str], Identity, int], Awaitable[PageView | None]]


class PageAddress(NamedTuple):
    """The address of a page, as a browser named it, and its path and query."""

    url: str
    path: str
    query: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, url: str) -> PageAddress | None:
        """Return an address, or nothing for what is none, such as one bracket."""
        try:
            parts = urlsplit(url[:_LONGEST_QUERY])
            return cls(url, parts.path, tuple(parse_qsl(parts.query)))
        except ValueError:
            return None


class Shown(NamedTuple):
    """A view, and the digest of each of its rows and parts: made once for all who look."""

    view: PageView
    digests: Mapping[_Place, str]

    @classmethod
    def of(cls, view: PageView) -> Shown:
        """Return a view with its digests."""
        rows = {(_ROW, key): digest(html) for key, html in view.rows.items()}
        return cls(view, rows | {(_PART, name): digest(html) for name, html in view.parts.items()})


@dataclass(slots=True)
class SentView:
    """What a browser was sent of a view: the digest of each row and part, and the order of the rows."""

    digests: dict[_Place, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()

    def difference(self, shown: Shown) -> dict[str, Any]:
        """Return what a browser has not been sent of a view, and note it as sent."""
        fresh = [place for place, found in shown.digests.items() if self.digests.get(place) != found]
        gone = [place for place in self.digests if place[0] == _ROW and place not in shown.digests]
        rows = {key: shown.view.rows[key] for kind, key in fresh if kind == _ROW}
        parts = {name: shown.view.parts[name] for kind, name in fresh if kind == _PART}
        changed: dict[str, Any] = {}
        if rows or gone or self.order != shown.view.order:
            changed |= {"order": shown.view.order, "set": rows}
        if parts:
            changed["parts"] = parts
        for place in gone:
            del self.digests[place]
        self.digests.update({place: shown.digests[place] for place in fresh})
        self.order = shown.view.order
        return changed


_Computed = dict[tuple[PageAddress, Identity], Shown | None]


@dataclass(slots=True, eq=False)
class _Connection:
    """A browser that listens.

    Attributes:
        who: Identity of the person who looks.
        sent: what it was sent of each view.
        writing: the write under way; `begun` is its time.
        heard: when something was sent last.
        gone: set when it is of no use any more.
    """

    response: web.StreamResponse
    request: web.Request
    who: Identity
    sent: dict[PageAddress, SentView]
    writing: asyncio.Task[None] | None = None
    begun: float = 0.0
    heard: float = 0.0
    gone: asyncio.Event = field(default_factory=asyncio.Event)


class LiveStreams:
    """The streams of all browsers.

    Args:
        console: Parts that all screens share.
        views: Computes a view, by the path of its page.
    """

    def __init__(self, console: Console, views: Mapping[str, Compute]) -> None:
        self._console = console
        self._views = views
        self._connections: set[_Connection] = set()
        self.ticks = 0
        self.slowest_s = 0.0

    @property
    def connections(self) -> int:
        """How many browsers listen."""
        return len(self._connections)

    def routes(self) -> Sequence[web.RouteDef]:
        """Return the route of the streams."""
        return [web.get("/live", self._listen)]

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """Tick as long as an application runs."""
        task = asyncio.create_task(self.run())
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def end(self, _: web.Application) -> None:
        """End all streams, so that the server need not wait for them."""
        for connection in self._connections:
            connection.gone.set()

    async def run(self) -> None:
        """Tick until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await self._tick(began)
            except Exception:
                # One browser, or one row, must not end the streams of all.
                log.exception("A tick of the live views failed")
            self.ticks += 1
            spent = loop.time() - began
            self.slowest_s = max(self.slowest_s, spent)
            await asyncio.sleep(max(TICK_S - spent, spent))  # at most half of the time is for the streams

    async def _listen(self, request: web.Request) -> web.StreamResponse:
        if len(self._connections) >= MOST_PAGES:
            raise web.HTTPServiceUnavailable(text="Too many browsers listen. Close some pages.")
        views = list(dict.fromkeys(request.query.getall("view", [])))[:MOST_VIEWS]
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        await response.prepare(request)
        addresses = [address for view in views if (address := PageAddress.of(view)) is not None]
        connection = _Connection(
            response, request, request["who"], {address: SentView() for address in addresses}
        )
        hello = {"build": self._console.pages.assets.build, "views": views}
        await response.write(b"retry: 1000\n" + frame("hello", hello))
        connection.heard = asyncio.get_running_loop().time()
        self._connections.add(connection)
        try:
            await connection.gone.wait()
        finally:
            self._connections.discard(connection)
        return response

    def _looked_at(self) -> frozenset[str]:
        """Return the sessions whose pages are open."""
        addresses = {address for connection in self._connections for address in connection.sent}
        queries = (address.query for address in addresses if address.path == "/session")
        return frozenset(value for query in queries for name, value in query if name == "id")

    async def _tick(self, now: float) -> None:
        self._console.board.look_at(self._looked_at())
        computed: _Computed = {}
        for connection in list(self._connections):
            if not self._takes(connection, now):
                continue
            frames = await self._frames(connection, computed)
            if frames or now - connection.heard >= _SILENT_S:
                connection.heard = connection.begun = now
                connection.writing = asyncio.create_task(
                    connection.response.write(frames or frame("beat", {}))
                )

    def _takes(self, connection: _Connection, now: float) -> bool:
        """Tell whether a browser can be sent something, and end a connection that is of no use any more."""
        transport, writing = connection.request.transport, connection.writing
        if transport is None or transport.is_closing() or not self._console.access.still(connection.request):
            connection.gone.set()
            return False
        if writing is None:
            return True
        if not writing.done():
            if now - connection.begun > _STUCK_S:
                transport.abort()
            return False
        if writing.cancelled() or writing.exception() is not None:
            connection.gone.set()
            return False
        return True

    async def _frames(self, connection: _Connection, computed: _Computed) -> bytes:
        frames = b""
        for address, sent in connection.sent.items():
            # Whoever has the same rights sees the same.
            key = (address, connection.who._replace(name="", binding=""))
            if key not in computed:
                view = await self._compute(address, connection.who)
                await asyncio.sleep(0)  # many pages keep no request waiting
                computed[key] = None if view is None else Shown.of(view)
            shown = computed[key]
            if shown is not None and (changed := sent.difference(shown)):
                frames += frame("rows", {"view": address.url, **changed})
        return frames

    async def _compute(self, address: PageAddress, who: Identity) -> PageView | None:
        compute = self._views.get(address.path)
        try:
            console = self._console.seen_by(who)
            if compute is None or all(screen.path != address.path for screen in console.screens):
                return None
            return await compute(console, dict(address.query), who, console.clock())
        except EddyError:
            return None  # the page itself says what is wrong
        except Exception:
            log.exception("A live view of %s failed", address.path)
            return None


def digest(text: str) -> str:
    """Return what tells one text from another."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def frame(event: str, data: Mapping[str, Any]) -> bytes:
    """Return an event of a stream."""
    return f"event: {event}\ndata: ".encode() + orjson.dumps(data) + b"\n\n"
