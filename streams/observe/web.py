"""The worker's HTTP answers: its health, its metrics, its sessions. Loopback by default."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from streams.core.domain.level import Level
from streams.core.errors import ConfigurationError
from streams.core.policy.verdict_answer import asked_level
from streams.observe.access import refusal
from streams.observe.connections import LIFE_S, MOST_CONNECTIONS, Connections

log = logging.getLogger(__name__)

Check = Callable[[], tuple[int, dict[str, Any]]]
Lookup = Callable[[str], tuple[int, dict[str, Any]]]
VerdictLookup = Callable[[str, Level | None], tuple[int, dict[str, Any]]]
"""Also takes the level from which on a call is to be refused."""

#: Other people's text: no browser shall guess at it, nothing on the way keep it.
_PRIVATE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class HealthServer:
    """Serves health, metrics and the standing of sessions on one address. Read only.

    Args:
        host: Address that the server listens on.
        port: 0 chooses a free one.
        live: Answers `/livez`: whether the process is alive.
        ready: Answers `/readyz`: whether the process is ready.
        metrics: Returns Prometheus' text format.
        session: Answers `/sessions/{id}`, which shows what agents did: see `streams.observe.access`. Without,
            there is no such path.
        verdict: Answers `/sessions/{id}/verdict`, which says no more than whether the session loops.
        token: Needed for both, where it is set.
        life_s, most: Limits for connections, see `streams.observe.connections`.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        live: Check,
        ready: Check,
        metrics: Callable[[], bytes],
        session: Lookup | None = None,
        verdict: VerdictLookup | None = None,
        token: str | None = None,
        life_s: float = LIFE_S,
        most: int = MOST_CONNECTIONS,
    ) -> None:
        self._host = host
        self._port = port
        self._life_s = life_s
        self._most = most
        self._application = web.Application(middlewares=[_one_request])
        self._application.add_routes(
            [
                web.get("/livez", _answering(live)),
                web.get("/readyz", _answering(ready)),
                web.get("/metrics", _exposing(metrics)),
            ]
        )
        if verdict is not None:
            judging = _showing(lambda request: _judged(verdict, request), host, token)
            self._application.add_routes([web.get("/sessions/{id:.+}/verdict", judging)])
        if session is not None:
            showing = _showing(lambda request: session(request.match_info["id"]), host, token)
            self._application.add_routes([web.get("/sessions/{id:.+}", showing)])
        self._runner: web.AppRunner | None = None
        self._connections: Connections | None = None
        self._listener: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen; return the port.

        Raises:
            ConfigurationError: the address is not available.
        """
        self._runner = web.AppRunner(
            self._application, access_log=None, logger=_requests_log, lingering_time=0, shutdown_timeout=1.0
        )
        await self._runner.setup()
        assert self._runner.server is not None
        self._connections = Connections(self._runner.server, life_s=self._life_s, most=self._most)
        try:
            self._listener = await asyncio.get_running_loop().create_server(
                self._connections, self._host, self._port
            )
        except OSError as error:
            await self.stop()
            raise ConfigurationError(
                f"{self._host}:{self._port} cannot be bound ({error}). Choose another with EDDY_WEB_HOST "
                "and EDDY_WEB_PORT."
            ) from error
        port: int = self._listener.sockets[0].getsockname()[1]
        log.info("Health and metrics on http://%s:%s", self._host, port)
        return port

    async def stop(self) -> None:
        """Stop listening, and end what is open."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        if self._connections is not None:
            self._connections.close()
            self._connections = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None


@web.middleware
async def _one_request(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer one request of a connection, so that no client sends thousands in a row."""
    try:
        response = await handler(request)
    except web.HTTPException as answer:
        answer.force_close()
        raise
    response.force_close()
    return response


def _is_of_ours(record: logging.LogRecord) -> bool:
    """Leave out what clients get wrong: anybody who can connect could fill the log."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


_requests_log = log.getChild("requests")
_requests_log.addFilter(_is_of_ours)


def _answering(check: Check) -> Callable[[web.Request], Any]:
    async def handle(_: web.Request) -> web.Response:
        status, body = check()
        return web.json_response(body, status=status)

    return handle


def _exposing(metrics: Callable[[], bytes]) -> Callable[[web.Request], Any]:
    async def handle(_: web.Request) -> web.Response:
        return web.Response(
            body=metrics(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        )

    return handle


def _judged(verdict: VerdictLookup, request: web.Request) -> tuple[int, dict[str, Any]]:
    try:
        deny = asked_level(request.query.get("deny"))
    except ValueError:
        return 400, {"problem": "deny is WARNING or LOOP; leave it out for neither"}
    return verdict(request.match_info["id"], deny)


def _showing(
    lookup: Callable[[web.Request], tuple[int, dict[str, Any]]], bound: str, token: str | None
) -> Callable[[web.Request], Any]:
    async def handle(request: web.Request) -> web.Response:
        why = refusal(bound, token, request.url.host, request.headers.get("Authorization"))
        if why is None:
            status, body = lookup(request)
        else:
            status, body = (403 if token is None else 401), {"problem": why}
        headers = _PRIVATE if status != 401 else {**_PRIVATE, "WWW-Authenticate": "Bearer"}
        return web.json_response(body, status=status, headers=headers)

    return handle
