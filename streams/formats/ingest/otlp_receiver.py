"""Takes spans of agents on this machine: OTLP over HTTP, in protobuf and in JSON.

A request is answered once its spans are remembered. They are held for a moment, so that those of a trace can
be put in order, and go out when their root has come or the moment is over.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import LONGEST_UNIT, Format, IntakeReason, Problem
from streams.formats.adapters.otlp_spans import JSON_FORMAT, PROTO_FORMAT
from streams.formats.ingest.store import Checkpoint, FileIdentity, Fingerprint, Store
from streams.formats.ingest.tail import Chunk, SourceTail
from streams.observe.access import is_loopback

HOLD_SECONDS: Final = 2.0
"""For how long spans wait for those that ended before them."""

PATH: Final = "/v1/traces"
_BY_TYPE: Final = {"application/json": JSON_FORMAT, "application/x-protobuf": PROTO_FORMAT}
_ANSWERS: Final = {JSON_FORMAT.name: b"{}", PROTO_FORMAT.name: b""}

Send = Callable[[SourceTail, Iterator[Chunk]], Awaitable[bool]]


class SpanTail:
    """The spans that came in one encoding, read like an input.

    Args:
        form: The format of the requests.
        store: Remembers the state of the adapter between two starts.
    """

    is_rewritten = False
    is_open = False

    def __init__(self, form: Format, store: Store) -> None:
        self.form, self.path = form, f"otlp:{form.name}"
        self.checkpoint = store.called(self.path) or _new(self.path, form, store.new_reading())
        state = self.checkpoint.state
        self._adapter = form.resume(self.path, state) if state else form.start(self.path)
        self._before = Counter(self._adapter.ignored)
        self.holds = bool(state)
        """Whether spans may wait."""

    @property
    def ignored(self) -> Counter[str]:
        """What was left out by design since this tail began."""
        return self._adapter.ignored - self._before

    def take(self, request: bytes) -> Chunk:
        """Return what a request completes."""
        self.holds = True
        return self._chunk(self._adapter.feed(request))

    def read(self) -> Iterator[Chunk]:
        """Yield nothing: what comes is taken."""
        return iter(())

    def end(self) -> Iterator[Chunk]:
        """Yield what waits."""
        self.holds = False
        yield self._chunk(self._adapter.close())

    def is_replaced(self) -> bool:
        """Tell that it is not."""
        return False

    def release(self) -> None:
        """Do nothing."""

    def _chunk(self, found: Iterable[Entry | Problem]) -> Chunk:
        listed = list(found)
        self.checkpoint = self.checkpoint._replace(state=self._adapter.state())
        return Chunk(listed, self.checkpoint.reading, self.checkpoint)


class OtlpReceiver:
    """Answers exporters.

    Args:
        store: Remembers the states of the adapters between two starts.
        send: Sends chunks of a tail; tells whether they are sent and remembered.
    """

    def __init__(self, store: Store, send: Send) -> None:
        self._tails = {each.name: SpanTail(each, store) for each in (JSON_FORMAT, PROTO_FORMAT)}
        self._send = send
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def open(self, host: str, port: int) -> AsyncIterator[int]:
        """Listen for as long as the block lasts; yield the port.

        Raises:
            ConfigurationError: the address cannot be used.
        """
        app = web.Application(client_max_size=LONGEST_UNIT, middlewares=[_only_from_here(host)])
        app.router.add_post(PATH, self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, host, port)
            try:
                await site.start()
            except OSError as error:
                raise ConfigurationError(
                    f"{host}:{port}: {error}. Give another address with --otlp"
                ) from error
            yield runner.addresses[0][1]
        finally:
            await runner.cleanup()

    async def release(self) -> None:
        """Send what waits, now and whenever the moment is over."""
        for tail in self._tails.values():
            async with self._lock:
                if tail.holds:
                    await self._send(tail, tail.end())

    async def _answer(self, request: web.Request) -> web.Response:
        form = _BY_TYPE.get(request.content_type)
        if form is None:
            raise web.HTTPUnsupportedMediaType
        body = await request.read()
        tail = self._tails[form.name]
        async with self._lock:
            chunk = tail.take(body)
            if not await self._send(tail, iter((chunk,))):
                raise web.HTTPServiceUnavailable
        if any(isinstance(each, Problem) and each.reason is IntakeReason.UNREADABLE for each in chunk.found):
            raise web.HTTPBadRequest
        return web.Response(body=_ANSWERS[form.name], content_type=request.content_type)


def _only_from_here(host: str) -> Middleware:
    """Return what refuses requests that a page of another site makes a browser on this machine send.

    Exporters send no Origin. A name that leads to this machine (DNS rebinding) is not its own.
    """

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        sent_to = _place(f"//{request.headers.get('Host', '')}")
        name, origin = sent_to[0], request.headers.get("Origin")
        if is_loopback(host) and name != host and not is_loopback(name):
            raise web.HTTPForbidden(text=f"Host {name[:200]!r} is not this machine\n")
        if origin is not None and _place(origin) != sent_to:
            raise web.HTTPForbidden(text="Pages of other sites may not send spans\n")
        return await handler(request)

    return checked


def _place(url: str) -> tuple[str, int | None]:
    """Return the host and the port of an address, no host if it is none."""
    try:
        found = urlsplit(url)
        port = found.port
    except ValueError:
        return "", None
    return found.hostname or "", port


def _new(path: str, form: Format, reading: int) -> Checkpoint:
    identity = FileIdentity(0, 1 + list(_ANSWERS).index(form.name))
    return Checkpoint(identity, path, form.name, 0, "", Fingerprint(b"", b""), b"", reading, 0)
