"""The console's server: listens until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from streams.console.app import application
from streams.console.auth.cookie import LIFE_MS
from streams.console.console import Console
from streams.core.errors import ConfigurationError
from streams.observe.connections import Connections

#: Routes beside those of the screens.
Routes = Iterable[web.RouteDef]

log = logging.getLogger(__name__)

MOST_CONNECTIONS: Final = 200
"""Open at the same time. One more ends the oldest one of the client that has most."""


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
        application(console, beside), access_log=None, logger=_requests_log, shutdown_timeout=1.0
    )
    await runner.setup()
    assert runner.server is not None
    # No connection lasts longer than a login.
    connections = Connections(runner.server, life_s=LIFE_MS / 1000, most=MOST_CONNECTIONS)
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


def _is_of_ours(record: logging.LogRecord) -> bool:
    """Leave out what clients get wrong: whoever can connect could fill the log."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


_requests_log = log.getChild("requests")
_requests_log.addFilter(_is_of_ours)
