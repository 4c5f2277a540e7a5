"""The console's web application and its server: wires screens, files and access, and decides nothing."""

from __future__ import annotations

import asyncio
import gzip
import logging
import resource
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware

from streams.console import probes
from streams.console.auth.cookie import LIFE_MS
from streams.console.console import Console, wants_json
from streams.console.live import LiveStreams
from streams.core.errors import ConfigurationError, ConflictError, InfrastructureError, NotFoundError
from streams.observe.connections import Connections

log = logging.getLogger(__name__)

_COMPRESSIBLE = 1_000


def application(console: Console, beside: Iterable[web.RouteDef] = ()) -> web.Application:
    """Return the application with every screen.

    Args:
        console: What the screens are made from.
        beside: Routes beside those of the screens, such as those of `streams.console.actions`.
    """
    app = web.Application(middlewares=[_problems(console), _compressed], client_max_size=256 * 1024)
    for screen in console.screens:
        app.add_routes(screen.routes(console))
    live: LiveStreams | None = None
    if console.board.live:
        views = {screen.path: screen.live for screen in console.screens if screen.live is not None}
        live = LiveStreams(console, views)
        app.add_routes(live.routes())
        app.cleanup_ctx.append(live.running)
        app.on_shutdown.append(live.end)
    app.add_routes(probes.routes(console, live))
    app.add_routes(beside)
    app.add_routes([web.get("/static/{build}/{name:.+}", _static(console)), web.get("/", _first(console))])
    console.access.protect(app)
    return app


def _first(console: Console) -> Handler:
    async def handle(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": console.pages.url(console.board.first_page)})

    return handle


def _static(console: Console) -> Handler:
    assets = console.pages.assets

    async def handle(request: web.Request) -> web.Response:
        asset = assets.files.get(request.match_info["name"])
        if asset is None:
            raise web.HTTPNotFound
        is_current = request.match_info["build"] == assets.build
        return web.Response(
            body=asset.content,
            content_type=asset.content_type,
            charset="utf-8",
            headers={"Cache-Control": "public, max-age=31536000, immutable" if is_current else "no-store"},
        )

    return handle


@web.middleware
async def _compressed(request: web.Request, handler: Handler) -> web.StreamResponse:
    response = await handler(request)
    if (
        isinstance(response, web.Response)
        and isinstance(response.body, bytes)
        and len(response.body) > _COMPRESSIBLE
        and "gzip" in request.headers.get("Accept-Encoding", "")
    ):
        # Files are the same for all; a page is sent once, and to keep it would only fill memory.
        kept = request.path.startswith("/static/")
        response.body = compressed_file(response.body) if kept else _gzipped(response.body)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept, Accept-Encoding"
    return response


def _gzipped(body: bytes) -> bytes:
    return gzip.compress(body, 6, mtime=0)


compressed_file: Final = lru_cache(maxsize=64)(_gzipped)
"""Compresses a file once for all who ask for it."""


def _problems(console: Console) -> Middleware:
    """Return a middleware that turns what goes wrong into a page or a problem document (RFC 9457)."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except ConflictError as error:
            status, title, detail = 409, "Another user was first", str(error)
        except NotFoundError as error:
            status, title, detail = 404, "This is not there", str(error)
        except ConfigurationError as error:
            status, title, detail = 400, "This cannot be done", str(error)
        except InfrastructureError as error:
            status, title, detail = 503, "Kafka does not answer", str(error)
        except web.HTTPNotFound:
            status, title, detail = (
                404,
                "There is no such page",
                f"{request.path} is no page of this console.",
            )
        except web.HTTPMethodNotAllowed:
            status, title, detail = 405, "This is no action", f"{request.path} takes no {request.method}."
        except (web.HTTPException, ConnectionError):
            raise
        except Exception:
            log.exception("A request for %s failed", request.path)
            status, title = 500, "The console failed"
            detail = "Its log says where. The other pages may still work."
        return problem(console, request, status, title, detail)

    return middleware


def problem(
    console: Console, request: web.Request, status: int, title: str, detail: str, do: str = ""
) -> web.Response:
    """Return a problem as the client wants it."""
    if wants_json(request) or "who" not in request:
        content = {"type": "about:blank", "title": title, "status": status, "detail": detail, "do": do}
        return web.json_response(content, status=status, content_type="application/problem+json")
    return console.answer(
        request, "problem.html.j2", "", {"title": title, "detail": detail, "do": do}, status=status
    )


#: Routes beside those of the screens.
Routes = Iterable[web.RouteDef]


MOST_CONNECTIONS: Final = 2_000
"""Guards, pages and requests at the same time. One more ends the oldest one of the client that has most."""

_FEWEST_CONNECTIONS: Final = 64
"""However few files the system lets a process open."""

#: A guard names each of its sessions, and the agent of each, in the line of a request.
_LONGEST_LINE: Final = 128 * 1024

#: Files that a console has open besides connections.
_OTHER_FILES: Final = 256


@asynccontextmanager
async def served(console: Console, beside: Routes = ()) -> AsyncIterator[str]:
    """Serve a console for as long as the block lasts; yield its address.

    Args:
        console: What the screens are made from.
        beside: Routes beside those of the screens.

    Raises:
        ConfigurationError: the address is not available.
    """
    settings = console.settings
    runner = web.AppRunner(
        application(console, beside),
        access_log=None,
        logger=_requests_log,
        shutdown_timeout=1.0,
        max_line_size=_LONGEST_LINE,
    )
    await runner.setup()
    assert runner.server is not None
    # No connection lasts longer than a login.
    spare = _files(MOST_CONNECTIONS + _OTHER_FILES) - _OTHER_FILES
    most = max(_FEWEST_CONNECTIONS, min(MOST_CONNECTIONS, spare))
    connections = Connections(runner.server, life_s=LIFE_MS / 1000, most=most)
    listener: asyncio.Server | None = None
    try:
        try:
            listener = await asyncio.get_running_loop().create_server(
                connections, settings.console_host, settings.console_port, reuse_address=True
            )
        except OSError as error:
            raise ConfigurationError(
                f"{settings.console_host}:{settings.console_port} cannot be bound ({error.strerror}). Choose "
                "another with --port, EDDY_CONSOLE_HOST and EDDY_CONSOLE_PORT."
            ) from error
        port: int = listener.sockets[0].getsockname()[1]
        yield f"http://{settings.console_host}:{port}{settings.console_base_path}"
    finally:
        if listener is not None:
            listener.close()
        connections.close()
        await runner.cleanup()


def _files(wanted: int) -> int:
    """Let the process have so many files open if the system permits, and return how many it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


def _is_of_ours(record: logging.LogRecord) -> bool:
    """Leave out what clients get wrong: whoever can connect could fill the log."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


_requests_log = log.getChild("requests")
_requests_log.addFilter(_is_of_ours)
