"""How requests leave: over HTTP, or through the library Apprise."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import ssl
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

import aiohttp

from streams.alerts.sinks.apprise import SCHEME
from streams.alerts.sinks.request import SinkAnswer, SinkRequest, TryAgain
from streams.core.errors import ConfigurationError

_KEPT: Final = 4_096
"""Bytes of an answer that are read."""


class Transport(Protocol):
    """Takes requests to where they go."""

    async def send(self, request: SinkRequest) -> SinkAnswer | TryAgain:
        """Send a request, and return the answer, or why there is none."""
        ...


class HttpTransport:
    """Posts over HTTP. It follows no redirects: a signed alert goes where it was meant to go.

    Args:
        timeout_s: Limit for a request, from its beginning to the end of the answer.
        cafile: CA certificates, PEM; None for those of the system.
        apprise_urls: Addresses for what Apprise carries.

    Raises:
        ConfigurationError: the certificates cannot be read, or Apprise is missing or cannot use an address.
    """

    def __init__(self, timeout_s: float, cafile: Path | None = None, apprise_urls: str | None = None) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._ssl = _context(cafile)
        self._apprise = None if apprise_urls is None else _apprise(apprise_urls)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open it."""
        connector = aiohttp.TCPConnector(ssl=self._ssl, limit=0, limit_per_host=32)
        self._session = aiohttp.ClientSession(
            connector=connector, timeout=self._timeout, trust_env=True, headers={"User-Agent": "eddy-notify"}
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        if self._session is not None:
            await self._session.close()

    async def send(self, request: SinkRequest) -> SinkAnswer | TryAgain:
        """Send a request. What goes wrong is not told with the address, which may be a secret."""
        if request.url == SCHEME:
            return await self._send_by_apprise(request)
        assert self._session is not None, "it is not open"
        try:
            async with self._session.post(
                request.url, data=request.body, headers=request.headers, allow_redirects=False
            ) as answer:
                body = await answer.content.read(_KEPT)
                headers = {name.lower(): value for name, value in answer.headers.items()}
                return SinkAnswer(answer.status, headers, body)
        except TimeoutError:
            return TryAgain(f"no answer within {self._timeout.total:g} s")
        except aiohttp.ClientConnectorError as error:
            return TryAgain(f"no connection ({error.os_error.strerror or type(error).__name__})")
        except (aiohttp.ClientError, OSError) as error:
            return TryAgain(f"the connection broke ({type(error).__name__})")

    async def _send_by_apprise(self, request: SinkRequest) -> SinkAnswer | TryAgain:
        assert self._apprise is not None, "it has no addresses"
        message = json.loads(request.body)
        delivered = await asyncio.to_thread(
            self._apprise.notify, title=message["title"], body=message["body"], notify_type=message["type"]
        )
        return (
            SinkAnswer(200, {}, b"")
            if delivered
            else TryAgain("Apprise could not deliver it to every address")
        )


def _context(cafile: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if cafile is None else str(cafile))
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"EDDY_NOTIFY_CAFILE cannot be used: {error}.") from error


def _apprise(urls: str) -> Any:
    if importlib.util.find_spec("apprise") is None:
        raise ConfigurationError(
            "EDDY_NOTIFY_APPRISE_URLS needs Apprise, which is missing: install the extra `apprise` of Eddy."
        )
    carrier = importlib.import_module("apprise").Apprise()
    for number, url in enumerate(urls.split(), 1):
        if not carrier.add(url):
            raise ConfigurationError(
                f"Apprise cannot use address {number} of EDDY_NOTIFY_APPRISE_URLS. "
                "https://github.com/caronc/apprise/wiki shows what it may be."
            )
    return carrier
