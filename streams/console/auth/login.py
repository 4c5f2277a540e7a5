"""Logging in and out: the routes, and the pages that people see before."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from http import HTTPStatus
from typing import Protocol, TypedDict
from urllib.parse import urlencode

from aiohttp import web

from streams.console.auth.exchange import form_of, own_path
from streams.console.auth.identity import Through
from streams.console.auth.policy import AccessPolicy
from streams.console.auth.refusal import AuthRefusal


class AccessPages(Protocol):
    """Makes these pages."""

    def login(
        self, policy: AccessPolicy, continue_at: str, *, left: bool, refusal: AuthRefusal | None
    ) -> str:
        """Return the page where people log in: a form that takes a token, a link to the provider, or both.

        Args:
            policy: Rules that the operator has set.
            continue_at: Path to open afterwards.
            left: Whether the person has just logged out.
            refusal: What was wrong with the try before.
        """

    def refused(self, refusal: AuthRefusal) -> str:
        """Return a page that says why, and what to do."""

    def arriving(self, path: str) -> str:
        """Return a page that opens a path at once, as a click in the console would."""


class PlainPages:
    """These pages without any style.

    Args:
        base_path: In front of every path.
    """

    def __init__(self, base_path: str) -> None:
        self._base_path = base_path

    def login(
        self, policy: AccessPolicy, continue_at: str, *, left: bool, refusal: AuthRefusal | None
    ) -> str:
        """Return the page where people log in."""
        problem = f'<p role="alert">{_e(refusal.title)}. {_e(refusal.do)}</p>' if refusal else ""
        form = (
            f'<form method="post" action="{_e(self._base_path)}/login">'
            f'<input type="hidden" name="next" value="{_e(continue_at)}">'
            '<label>Token <input type="password" name="token" autocomplete="current-password" required '
            "autofocus></label> <button>Log in</button></form>"
        )
        at = f"{_e(self._base_path)}/login/openid"
        begin = f"{at}?{_e(urlencode({'next': continue_at}))}"
        link = f'<p><a href="{begin}">Log in with {_e(policy.openid)}</a></p>'
        out = f'<p><a href="{at}/logout">Log out of {_e(policy.openid)} too</a></p>' if left else ""
        return self._page(
            "Log in", f"{problem}{link + out if policy.openid else ''}{form if policy.takes_tokens else ''}"
        )

    def refused(self, refusal: AuthRefusal) -> str:
        """Return a page that says why, and what to do."""
        back = f'<p><a href="{_e(self._base_path)}/">Back to the alerts</a></p>'
        return self._page(refusal.title, f"<p>{_e(refusal.detail)}</p><p>{_e(refusal.do)}</p>{back}")

    def arriving(self, path: str) -> str:
        """Return a page that opens a path at once, as a click in the console would."""
        target = _e(self._base_path + path)
        return self._page(
            "Opening the console",
            f'<p><a href="{target}">Open the page</a></p>',
            f'<meta http-equiv="refresh" content="0; url={target}">',
        )

    def _page(self, title: str, main: str, head: str = "") -> str:
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_e(title)} · Eddy</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"{head}</head><body><main><h1>{_e(title)}</h1>{main}</main></body></html>"
        )


def _e(text: str) -> str:
    return escape(text, quote=True)


class LoginAccess(Protocol):
    """What these routes need of `streams.console.auth.middleware.Access`."""

    policy: AccessPolicy
    pages: AccessPages

    async def login(self, request: web.Request, token: str) -> str | AuthRefusal:
        """Take a token; return the value of a cookie."""

    def logout(self, request: web.Request) -> None:
        """End a login."""

    async def refuse(
        self, request: web.Request, refused: AuthRefusal, page: str | None = None
    ) -> web.Response:
        """Answer with a refusal, and audit it."""

    def cookie_name(self, request: web.Request) -> str:
        """Return the name of the cookie for this request."""

    def through(self, request: web.Request) -> Through:
        """Return what a trusted proxy says of the request."""


class KeptCookie(TypedDict):
    """How a browser keeps a cookie."""

    path: str
    httponly: bool
    samesite: str
    secure: bool


def login_routes(access: LoginAccess) -> Sequence[web.RouteDef]:
    """Return the routes."""

    async def form(request: web.Request) -> web.Response:
        continue_at = own_path(request.query.get("next", "/"))
        if "who" in request:
            return _see(access, continue_at)
        page = access.pages.login(access.policy, continue_at, left="left" in request.query, refusal=None)
        return web.Response(text=page, content_type="text/html")

    async def login(request: web.Request) -> web.Response:
        fields = await form_of(request)
        token, continue_at = fields.get("token", "").strip(), own_path(fields.get("next", "/"))
        taken = await access.login(request, token)
        if isinstance(taken, AuthRefusal):
            page = access.pages.login(access.policy, continue_at, left=False, refusal=taken)
            return await access.refuse(request, taken, page)
        answer = _see(access, continue_at)
        answer.set_cookie(
            access.cookie_name(request),
            taken,
            max_age=access.policy.login_ms // 1000,
            **kept(access, request),
        )
        return answer

    async def logout(request: web.Request) -> web.Response:
        access.logout(request)
        answer = _see(access, "/login?left" if access.policy.openid else "/login")
        answer.del_cookie(access.cookie_name(request), **kept(access, request))
        return answer

    return [web.get("/login", form), web.post("/login", login), web.post("/logout", logout)]


def kept(access: LoginAccess, request: web.Request, samesite: str = "Strict") -> KeptCookie:
    """Return how a browser keeps a cookie of the console, which no script reads.

    Args:
        access: The door of the console.
        request: Request as it came in.
        samesite: Whether the browser sends it with a visit that begins at another site: ``Lax`` is yes.
    """
    secure = access.through(request).secure
    return {"path": "/", "httponly": True, "samesite": samesite, "secure": secure}


def _see(access: LoginAccess, path: str) -> web.Response:
    return web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": access.policy.base_path + path})
