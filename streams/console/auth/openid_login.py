"""Logging in and out by an OpenID provider: the authorization code flow, begun and ended in one browser."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, Protocol

from aiohttp import web

from streams.console.auth import refusal
from streams.console.auth.cookie import FLOW_MS, LoginFlow, opened_flow, sealed_flow
from streams.console.auth.exchange import own_path, peer_of
from streams.console.auth.identity import Identity
from streams.console.auth.login import LoginAccess, kept
from streams.console.auth.logins import Logins
from streams.console.auth.openid import Claimed, ProviderError, Registration
from streams.console.auth.policy import OPENID, Rate, place_of
from streams.console.auth.refusal import AuthRefusal

log = logging.getLogger(__name__)

_MOST_BEGUN: Final = 4
"""Logins that a browser may have begun and not finished. A request holds few cookies."""

_LONGEST_PATH: Final = 300
"""A longer one is left for the first page, since a cookie has it."""

_LONGEST: Final = 8_192
"""No provider has a longer code."""


class OpenIdAccess(LoginAccess, Protocol):
    """What these routes need of `streams.console.auth.middleware.Access`."""

    def limited(self, rate: Rate, key: str) -> AuthRefusal | None:
        """Count something; refuse it if there was too much of it."""

    async def admitted(self, request: web.Request, who: Identity, subject: str) -> None:
        """Audit that somebody came in."""

    def now(self) -> int:
        """Return the time in milliseconds since 1970."""


class IdentityProvider(Protocol):
    """What these routes need of `streams.console.auth.provider.OpenIdProvider`."""

    registration: Registration

    async def login_url(self, state: str, nonce: str, verifier: str) -> str:
        """Return the address at the provider where a person logs in."""

    async def logout_url(self, back_to: str) -> str | None:
        """Return the address at the provider where a person logs out of it."""

    async def claimed(self, code: str, verifier: str, nonce: str, issuer: str | None, now_ms: int) -> Claimed:
        """Redeem a code; return whom the provider names."""


class OpenIdLogin:
    """Begins logins at a provider, and ends them with whom it names.

    What a login began with is in a cookie of the browser that began it. A link that ends the login of
    somebody else therefore logs nobody in, and any instance can end what another one began.

    Args:
        access: The door of the console.
        provider: Provider that people log in at.
        logins: Makes and reads the cookies.
        key: Key that cookies are signed with.
    """

    def __init__(self, access: OpenIdAccess, provider: IdentityProvider, logins: Logins, key: bytes) -> None:
        self._access = access
        self._provider = provider
        self._logins = logins
        self._key = key
        #: Logins that were finished here, and when they would have become too old: a code is redeemed once.
        self._finished: dict[str, int] = {}

    def routes(self) -> Sequence[web.RouteDef]:
        """Return the routes."""
        return [
            web.get("/login/openid", self._begin),
            web.get("/login/openid/callback", self._end),
            web.get("/login/openid/logout", self._leave),
        ]

    async def _begin(self, request: web.Request) -> web.Response:
        path = own_path(request.query.get("next", "/"))
        flow = LoginFlow(
            state=secrets.token_urlsafe(24),
            nonce=secrets.token_urlsafe(24),
            verifier=secrets.token_urlsafe(48),
            continue_at=path if len(path) <= _LONGEST_PATH else "/",
            until=self._access.now() + FLOW_MS,
        )
        try:
            url = await self._provider.login_url(flow.state, flow.nonce, flow.verifier)
        except ProviderError as error:
            return await self._failed(request, error)
        answer = _see(url)
        for name in self._too_old(request):
            answer.del_cookie(name, **kept(self._access, request, "Lax"))
        answer.set_cookie(
            self._flow_cookie(request, flow.state),
            sealed_flow(flow, self._key),
            max_age=FLOW_MS // 1000,
            **kept(self._access, request, "Lax"),
        )
        return answer

    async def _end(self, request: web.Request) -> web.Response:
        told = {name: value[:_LONGEST] for name, value in request.query.items()}
        name = self._flow_cookie(request, told.get("state", ""))
        now = self._access.now()
        flow = opened_flow(request.cookies.get(name, ""), self._key, now)
        if flow is None or flow.state != told.get("state") or flow.state in self._finished:
            return await self._access.refuse(request, refusal.wrong_flow())
        if refused := self._access.limited(OPENID, place_of(peer_of(request))):
            return await self._access.refuse(request, refused)
        self._finished = {state: until for state, until in self._finished.items() if until > now}
        self._finished[flow.state] = flow.until
        answer = await self._ended(request, flow, told)
        answer.del_cookie(name, **kept(self._access, request, "Lax"))
        return answer

    async def _ended(self, request: web.Request, flow: LoginFlow, told: dict[str, str]) -> web.Response:
        if "error" in told:
            said = " ".join(filter(None, (told["error"], told.get("error_description"))))
            return await self._access.refuse(request, refusal.provider_refused(said))
        try:
            claimed = await self._provider.claimed(
                told.get("code", ""), flow.verifier, flow.nonce, told.get("iss"), self._access.now()
            )
            begun = self._logins.begun_by(claimed, self._access.now())
        except ProviderError as error:
            return await self._failed(request, error)
        if begun is None:
            return await self._access.refuse(request, refusal.no_group(claimed.name))
        who, value = begun
        await self._access.admitted(request, who, claimed.subject)
        # The browser comes from another site: with a redirect it would leave the cookie out.
        answer = web.Response(text=self._access.pages.arriving(flow.continue_at), content_type="text/html")
        cookie = self._access.cookie_name(request)
        lasts_s = self._access.policy.login_ms // 1000
        answer.set_cookie(cookie, value, max_age=lasts_s, **kept(self._access, request))
        return answer

    async def _leave(self, request: web.Request) -> web.Response:
        back_to = f"{self._provider.registration.address}/login"
        try:
            url = await self._provider.logout_url(back_to)
        except ProviderError as error:
            return await self._failed(request, error)
        return _see(url or back_to)

    async def _failed(self, request: web.Request, error: ProviderError) -> web.Response:
        log.warning("A login by the OpenID provider failed: %s", error)
        return await self._access.refuse(request, refusal.provider_failed(str(error)))

    def _too_old(self, request: web.Request) -> list[str]:
        """Return the cookies of logins that were begun first, if the browser has begun too many."""
        now, begun = self._access.now(), list[tuple[int, str]]()
        for name, value in request.cookies.items():
            if name.startswith(self._flow_cookie(request, "")):
                flow = opened_flow(value, self._key, now)
                begun.append((flow.until if flow is not None else 0, name))
        return [name for _, name in sorted(begun)[: max(0, len(begun) - _MOST_BEGUN + 1)]]

    def _flow_cookie(self, request: web.Request, state: str) -> str:
        """Return the name of the cookie of one login: another one may be begun in another tab."""
        mark = "".join(each for each in state[:8] if each.isascii() and each.isalnum())
        return f"{self._access.cookie_name(request)}-login-{mark}"


def _see(url: str) -> web.Response:
    return web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": url})
