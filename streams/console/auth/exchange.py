"""What the door reads from a request."""

from __future__ import annotations

import re
import warnings
from typing import Final

from aiohttp import web

from streams.console.auth.identity import Identity

CSRF_HEADER: Final = "X-CSRF-Token"
_FORM: Final = "application/x-www-form-urlencoded"
_OWN_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]{0,2000}")


def peer_of(request: web.Request) -> str:
    """Return the address of the other end of the connection, whatever the headers say."""
    peer = request.transport.get_extra_info("peername") if request.transport is not None else None
    return str(peer[0]) if isinstance(peer, tuple) else ""


def remember(request: web.Request, who: Identity) -> None:
    """Note who asks, as `request["who"]`."""
    with warnings.catch_warnings():
        # Older versions of aiohttp have no keys with a type, which newer ones recommend.
        warnings.simplefilter("ignore", web.NotAppKeyWarning)
        request["who"] = who


def wants_page(request: web.Request) -> bool:
    """Tell whether a person looks at the answer."""
    accepted = request.headers.get("Accept", "")
    return "text/html" in accepted and not accepted.startswith("application/json")


def route_of(request: web.Request) -> str | None:
    """Return the path as the route was registered, None if there is no such route."""
    found = request.match_info.route.resource
    return found.canonical if found is not None else None


async def csrf_of(request: web.Request) -> str | None:
    """Return the token that a script or a form sends."""
    return request.headers.get(CSRF_HEADER) or (await form_of(request)).get("csrf")


async def form_of(request: web.Request) -> dict[str, str]:
    """Return the fields of a form; none if the request is no form, or one that cannot be read."""
    if request.content_type != _FORM:
        return {}
    try:
        fields = await request.post()
    except (LookupError, ValueError):  # a charset that is unknown, or is not that of the bytes
        return {}
    return {name: value for name, value in fields.items() if isinstance(value, str)}


def own_path(path: str) -> str:
    r"""Return a path of this console; the first page in place of what could lead elsewhere.

    >>> own_path("/session?id=s-1"), own_path("//evil.example"), own_path("https://evil.example")
    ('/session?id=s-1', '/', '/')
    """
    return path if _OWN_PATH.fullmatch(path) else "/"
