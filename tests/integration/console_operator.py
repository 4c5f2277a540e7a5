"""Who acts at a console in tests: with a login of their own, as a browser does it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from streams.console.console import Console


class Operator:
    """Somebody who has logged in with the link that the console prints."""

    def __init__(self, session: aiohttp.ClientSession, base: str, csrf: str) -> None:
        self._session = session
        self._headers = {"Origin": base, "X-CSRF-Token": csrf}

    async def posts(
        self, path: str, fields: Mapping[str, Any] | list[tuple[str, str]], accept: str = "application/json"
    ) -> aiohttp.ClientResponse:
        headers = {**self._headers, "Accept": accept}
        return await self._session.post(path, data=fields, headers=headers, allow_redirects=False)

    async def reads(self, path: str) -> str:
        """Return a page; blanks and line breaks are one, as a browser shows them."""
        answer = await self._session.get(path, headers={"Accept": "text/html"})
        assert answer.status == 200, path
        return " ".join((await answer.text()).split())

    async def reads_json(self, path: str) -> Any:
        answer = await self._session.get(path, headers={"Accept": "application/json"})
        assert answer.status == 200, path
        return await answer.json()

    async def posts_json(self, path: str, document: object) -> aiohttp.ClientResponse:
        headers = {**self._headers, "Accept": "application/json"}
        return await self._session.post(path, json=document, headers=headers)


@asynccontextmanager
async def logged_in(console: Console, base: str, token: str | None = None) -> AsyncIterator[Operator]:
    """Log in with a token, or with the link, and take the token of a page."""
    async with aiohttp.ClientSession(base, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        token = token or console.access.link(base).rpartition("#t=")[2]
        login = await session.post(
            "/login", data={"token": token}, headers={"Origin": base}, allow_redirects=False
        )
        assert login.status == 303, await login.text()
        page = await (await session.get("/sessions")).text()
        found = re.search(r'name="eddy-csrf" content="([^"]+)"', page)
        assert found is not None
        yield Operator(session, base, found[1])
