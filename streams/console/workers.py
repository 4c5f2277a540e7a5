"""What the workers say: their probes, a few of their metrics, and where a session stands."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import orjson

from streams.console.watch.metrics import WorkerSample, metrics_of
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.operate.explain.worker_request import standing_at

_TIMEOUT: Final = aiohttp.ClientTimeout(total=2.0)
_LARGEST_ANSWER: Final = 4 << 20
_DNS_PARTS: Final = 3


class WorkerState(NamedTuple):
    """What a worker answered.

    Attributes:
        url: where it was asked.
        live: whether it says that it lives; None if it did not answer.
        ready: whether it says that it is ready; None if it did not answer.
        detail: what it says of that, or why it could not be asked.
        metrics: what its metrics say; None if it did not give them.
    """

    url: str
    live: bool | None = None
    ready: bool | None = None
    detail: str = ""
    metrics: WorkerSample | None = None


class SessionStanding(NamedTuple):
    """Where a session stands (`streams.core.policy.standing`), or why that is not known."""

    fields: Mapping[str, Any] | None = None
    missing: str = ""


async def standing_of(named: Iterable[str], session_id: str, token: str | None) -> SessionStanding:
    """Ask every worker for a session; the one that has it answers.

    Args:
        named: The parts of EDDY_CONSOLE_WORKERS.
        session_id: Id of the session.
        token: The value of EDDY_WEB_TOKEN.
    """
    try:
        urls = await _all_urls(named)
    except ConfigurationError as error:
        return SessionStanding(missing=str(error))
    if not urls:
        return SessionStanding(missing="No worker is known: set EDDY_CONSOLE_WORKERS.")
    told = await asyncio.gather(
        *(standing_at(url, session_id, token, _TIMEOUT) for url in urls), return_exceptions=True
    )
    why = ""
    for each in told:
        match each:
            case ConfigurationError() | InfrastructureError():
                why = str(each)
            case BaseException():
                raise each
            case _:
                return SessionStanding(each)
    return SessionStanding(missing=why)


async def workers(named: Iterable[str]) -> list[WorkerState]:
    """Ask every worker, all at once; one that does not answer within two seconds is told as silent.

    Args:
        named: The parts of EDDY_CONSOLE_WORKERS: URLs, or dns:NAME:PORT for every address of a name.
    """
    urls = await _all_urls(named)
    async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
        return list(await asyncio.gather(*(_asked(session, url) for url in urls)))


async def _all_urls(named: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(url for part in await asyncio.gather(*map(_urls, named)) for url in part))


async def _urls(part: str) -> list[str]:
    if not part.startswith("dns:"):
        if urlsplit(part).scheme not in ("http", "https"):
            raise ConfigurationError(
                f"{part} in EDDY_CONSOLE_WORKERS is no URL. Write http://worker-1:8066, or dns:NAME:8066."
            )
        return [part.rstrip("/")]
    fields = part.split(":")
    if len(fields) != _DNS_PARTS or not fields[2].isdecimal():
        raise ConfigurationError(f"{part} in EDDY_CONSOLE_WORKERS is no name. Write dns:NAME:8066.")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            fields[1], int(fields[2]), type=socket.SOCK_STREAM
        )
    except OSError:
        return [f"http://{fields[1]}:{fields[2]}"]
    addresses = sorted({str(address[0]) for *_, address in found})
    return [f"http://{f'[{each}]' if ':' in each else each}:{fields[2]}" for each in addresses]


async def _asked(session: aiohttp.ClientSession, url: str) -> WorkerState:
    try:
        (live, _), (ready, detail), (answers, text) = await asyncio.gather(
            *(_answer(session, f"{url}/{path}") for path in ("livez", "readyz", "metrics"))
        )
        metrics = metrics_of(text) if answers else None
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        return WorkerState(url, detail=f"It does not answer ({type(error).__name__}).")
    return WorkerState(url, live, ready, _detail(detail)[:600], metrics)


def _detail(body: str) -> str:
    """Return what a probe says in words.

    >>> _detail('{"ok": true, "detail": "ready"}'), _detail("ok")
    ('ready', 'ok')
    """
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.strip()
    return str(told.get("detail", "")) if isinstance(told, dict) else body.strip()


async def _answer(session: aiohttp.ClientSession, url: str) -> tuple[bool, str]:
    async with session.get(url, allow_redirects=False) as answer:
        body = await answer.content.read(_LARGEST_ANSWER)
        while not answer.content.at_eof() and len(body) < _LARGEST_ANSWER:
            body += await answer.content.read(_LARGEST_ANSWER - len(body))
        return answer.status == 200, body.decode("utf-8", "replace")
