"""The cookie of a login, and the CSRF token that is bound to it. Both are signed; nothing is stored."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from typing import Final, NamedTuple

LIFE_MS: Final = 12 * 3_600_000
"""A login lasts so long."""

_LONGEST: Final = 1_500


class Login(NamedTuple):
    """What a cookie says.

    Attributes:
        name: Name of who logged in.
        mark: of the token they used, so that the login ends with the token; empty for a login by link.
        session: random; tells one login from another.
        until: when it ends, ms since 1970.
    """

    name: str
    mark: str
    session: str
    until: int


def cookie_name(*, secure: bool, host: str, base_path: str) -> str:
    """Return the name of the cookie: consoles of one machine do not take one another's.

    Browsers send cookies whatever the port, and a name that begins with ``__Host-`` is for the path ``/``.

    >>> cookie_name(secure=False, host="127.0.0.1:8070", base_path="")
    'eddy-8070'
    >>> cookie_name(secure=True, host="ops.example", base_path="/eddy")
    '__Host-eddy-eddy'
    """
    path = base_path.replace("/", "-")
    if secure:
        return f"__Host-eddy{path}"
    port = host.rpartition(":")[2]
    return f"eddy-{port if port.isascii() and port.isdigit() else '80'}{path}"


def mark_of(digest: bytes, key: bytes) -> str:
    """Return what tells a token from another in a cookie, and says nothing of it."""
    return _mac(key, "mark", digest)[:16]


def sealed(login: Login, key: bytes) -> str:
    """Return the value of a cookie."""
    body = base64.urlsafe_b64encode(json.dumps(login).encode()).decode().rstrip("=")
    return f"{body}.{_mac(key, 'cookie', body.encode())}"


def opened(value: str, key: bytes, now: int) -> Login | None:
    """Return what a cookie says; None if it is not one of this console, was changed, or has ended.

    >>> cookie = sealed(Login("ana", "", "1f", until=1_000), key=b"k")
    >>> opened(cookie, b"k", now=999).name, opened(cookie, b"k", now=1_000), opened(cookie, b"other", now=0)
    ('ana', None, None)
    """
    body, _, mac = value.partition(".")
    if len(value) > _LONGEST or not value.isascii():
        return None
    if not hmac.compare_digest(mac, _mac(key, "cookie", body.encode())):
        return None
    try:
        name, mark, session, until = json.loads(base64.urlsafe_b64decode(body + "=="))
    except (binascii.Error, ValueError, TypeError):
        return None
    return Login(name, mark, session, until) if now < until else None


def csrf_token(binding: str, key: bytes, now: int) -> str:
    """Return what every form of a page holds. It is good for 12 to 24 hours.

    Args:
        binding: What it is bound to: the login, or the name the proxy gives.
        key: The one of the console.
        now: Time of the call, in milliseconds since 1970.
    """
    return _csrf(binding, key, now // LIFE_MS)


def is_csrf_token(token: str, binding: str, key: bytes, now: int) -> bool:
    """Tell whether a form was made for the same login, not long ago.

    >>> made = csrf_token("login 1f", b"k", now=0)
    >>> [is_csrf_token(made, of, b"k", now=LIFE_MS) for of in ("login 1f", "login 2e")]
    [True, False]
    """
    period = now // LIFE_MS
    good = [_csrf(binding, key, of) for of in (period, period - 1)]
    sent = token.encode("utf-8", "surrogateescape")
    return any(hmac.compare_digest(sent, one.encode()) for one in good)


def _csrf(binding: str, key: bytes, period: int) -> str:
    return _mac(key, "csrf", f"{period} {binding}".encode("utf-8", "surrogateescape"))[:32]


def _mac(key: bytes, use: str, value: bytes) -> str:
    return hmac.new(key, f"eddy {use} 1\0".encode() + value, hashlib.sha256).hexdigest()
