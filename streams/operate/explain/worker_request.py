"""Asking a running worker where a session stands."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError, InfrastructureError

_PATIENCE = aiohttp.ClientTimeout(total=10)


class WorkerUnreachableError(InfrastructureError):
    """The worker does not answer. Check its address, EDDY_WEB_HOST and EDDY_WEB_PORT."""


async def standing_at(
    worker: str, session_id: str, token: str | None, patience: aiohttp.ClientTimeout = _PATIENCE
) -> dict[str, Any]:
    """Return what a worker says of a session (`streams.core.policy.standing`).

    Raises:
        ConfigurationError: the worker does not have the session, or refuses to say; or the address is none.
        WorkerUnreachableError: it does not answer, or not as a worker does.
    """
    address = f"{worker.rstrip('/')}/sessions/{quote(session_id, safe='', errors='surrogateescape')}"
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        async with (
            aiohttp.ClientSession(timeout=patience) as client,
            client.get(URL(address, encoded=True), headers=headers) as answer,
        ):
            body = await answer.json()
    except aiohttp.InvalidURL as error:
        raise ConfigurationError(f"{worker} is no address of a worker. Give http://HOST:PORT.") from error
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise WorkerUnreachableError(
            f"The worker at {worker} does not answer ({_said(error, patience)}). Check its address, "
            "EDDY_WEB_HOST and EDDY_WEB_PORT."
        ) from error
    if answer.status == 200 and isinstance(body, dict):
        return body
    problem = printable(str(body.get("problem", body)) if isinstance(body, dict) else str(body), 300)
    raise ConfigurationError(f"The worker at {worker} says: {problem}.")


def _said(error: Exception, patience: aiohttp.ClientTimeout) -> str:
    # A client's words about a closed port fill a page; the system's own words are short.
    match error:
        case aiohttp.ClientConnectorError(os_error=OSError() as cause):
            return cause.strerror or str(cause)
        case TimeoutError():
            return f"nothing within {patience.total:g} s"
        case _:
            return str(error) or type(error).__name__
