"""The cookie of a login, and the CSRF token that is bound to it. Both are signed; nothing is stored."""

from __future__ import annotations

import hashlib
from typing import Any, Final, NamedTuple

from itsdangerous import BadData, Signer, URLSafeSerializer

LIFE_MS: Final = 12 * 3_600_000
"""A login lasts so long at most."""

FLOW_MS: Final = 600_000
"""A login at a provider has to be finished so soon."""

LONGEST: Final = 2_500
"""A request holds 8 KiB of cookies: this one, and those of logins that have begun."""


class Login(NamedTuple):
    """What a cookie says.

    Attributes:
        name: Name of who logged in.
        mark: of the token they used, so that the login ends with the token; empty for a login by link.
        session: random; tells one login from another.
        until: when it ends, ms since 1970.
        groups: those of the provider's groups that the settings name; empty for other logins.
    """

    name: str
    mark: str
    session: str
    until: int
    groups: tuple[str, ...] = ()


class LoginFlow(NamedTuple):
    """What a login at a provider began with.

    Attributes:
        state: comes back with the person, and tells one login from another.
        nonce: comes back in the token, so that the token is of this login.
        verifier: secret that a code is redeemed with.
        continue_at: Path to open afterwards.
        until: when it may not be finished any more, ms since 1970.
    """

    state: str
    nonce: str
    verifier: str
    continue_at: str
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
    return _signer(key, "mark").get_signature(digest).decode()[:16]


def sealed(login: Login, key: bytes) -> str:
    """Return the value of a cookie."""
    # A version before fails at more fields of this use: what it can read stays as it knows it.
    use, fields = ("provider", login) if login.groups else ("cookie", login[:-1])
    value: str = _serializer(key, use).dumps(fields)
    return value


def opened(value: str, key: bytes, now: int) -> Login | None:
    """Return what a cookie says; None if it is not one of this console, was changed, or has ended.

    >>> cookie = sealed(Login("ana", "", "1f", until=1_000), key=b"k")
    >>> opened(cookie, b"k", now=999).name, opened(cookie, b"k", now=1_000), opened(cookie, b"other", now=0)
    ('ana', None, None)
    """
    if fields := _opened(value, key, "cookie", len(Login._fields) - 1):
        login = Login(*fields)
    elif fields := _opened(value, key, "provider", len(Login._fields)):
        *plain, groups = fields
        login = Login(*plain)._replace(groups=tuple(groups))
    else:
        return None
    return login if now < login.until else None


def sealed_flow(flow: LoginFlow, key: bytes) -> str:
    """Return the value of the cookie of a login that has begun at a provider."""
    value: str = _serializer(key, "flow").dumps(flow)
    return value


def opened_flow(value: str, key: bytes, now: int) -> LoginFlow | None:
    """Return what a login began with; None if it was not begun here, or too long ago.

    >>> begun = LoginFlow("s", "n", "v", "/", until=1_000)
    >>> (
    ...     opened_flow(sealed_flow(begun, b"k"), b"k", now=999) == begun,
    ...     opened(sealed_flow(begun, b"k"), b"k", now=0),
    ... )
    (True, None)
    """
    fields = _opened(value, key, "flow", len(LoginFlow._fields))
    flow = None if fields is None else LoginFlow(*fields)
    return flow if flow is not None and now < flow.until else None


def _opened(value: str, key: bytes, use: str, count: int) -> list[Any] | None:
    if len(value) > LONGEST or not value.isascii():
        return None
    try:
        fields: object = _serializer(key, use).loads(value)
    except BadData:
        return None
    return fields if isinstance(fields, list) and len(fields) == count else None


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
    signer, sent = _signer(key, "csrf"), token.encode("utf-8", "surrogateescape")
    return any(signer.verify_signature(_bound(binding, of), sent) for of in (period, period - 1))


def _csrf(binding: str, key: bytes, period: int) -> str:
    return _signer(key, "csrf").get_signature(_bound(binding, period)).decode()


def _bound(binding: str, period: int) -> bytes:
    return f"{period} {binding}".encode("utf-8", "surrogateescape")


# One key has several uses, and what is signed for one is nothing for another.
def _signer(key: bytes, use: str) -> Signer:
    return Signer(key, salt=f"eddy {use} 2", key_derivation="hmac", digest_method=hashlib.sha256)


def _serializer(key: bytes, use: str) -> URLSafeSerializer:
    kwargs = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
    return URLSafeSerializer(key, salt=f"eddy {use} 2", signer_kwargs=kwargs)
