"""A request to a receiver, its answer, and what the answer means."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

_HIDDEN: Final = "(hidden)"
_AGAIN: Final = frozenset({408, 425, 429})
_LONGEST_WAIT_S: Final = 3_600.0
_SAID: Final = 200
"""Characters of an answer that a line of the log shows."""


@dataclass(frozen=True, slots=True)
class SinkRequest:
    """One POST. ``repr`` shows no secret; `shown` is for people.

    Attributes:
        url: Where it goes; of a sink that needs no HTTP the name of what carries it, such as ``apprise:``.
        headers: Headers of the request, by name.
        body: Bytes that the request sends.
        secrets: Texts in any of these that nobody may see.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def shown(self) -> list[str]:
        """Return lines for people, as HTTP has them, without the secrets."""
        url = f"{origin(self.url)}/{_HIDDEN}" if self.url in self.secrets else self.url
        lines = [f"POST {url}", *(f"{name}: {value}" for name, value in self.headers.items())]
        lines += ["", self.body.decode(errors="replace")]
        return [hidden(line, self.secrets) for line in lines]


def origin(url: str) -> str:
    """Return scheme, host and port of an address.

    >>> origin("https://u:p@hooks.example:8443/T0/B1?key=s3cret")
    'https://hooks.example:8443'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def login(url: str) -> tuple[str, ...]:
    """Return the login in an address as a secret, nothing where there is none.

    >>> login("https://u:p@am.example"), login("https://am.example")
    (('u:p',), ())
    """
    found = urlsplit(url).netloc.rpartition("@")[0]
    return (found,) if found else ()


def hidden(text: str, secrets: tuple[str, ...]) -> str:
    """Return a text without secrets.

    >>> hidden("token s3cret", ("s3cret",))
    'token (hidden)'
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return text


def json_request(
    url: str, document: object, headers: Mapping[str, str] | None = None, secrets: tuple[str, ...] = ()
) -> SinkRequest:
    """Return a request with a JSON document, always the same bytes for the same document."""
    return SinkRequest(
        url, {"Content-Type": "application/json", **(headers or {})}, as_json(document), secrets
    )


def as_json(document: object) -> bytes:
    """Return compact JSON without what no receiver can read: lone surrogates, infinite numbers."""
    try:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(document), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode(errors="replace")


def _finite(value: Any) -> Any:
    """Return a document with null for each number that JSON does not have."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
        case _:
            return value


class SinkAnswer(NamedTuple):
    """What came back. Names of headers are in lower case; of the body only the beginning is kept."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def document(self) -> Mapping[str, Any]:
        """Return the JSON object of the body, an empty one if it is none."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):  # the latter: thousands of brackets
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def said(self) -> str:
        """The status with the beginning of the body."""
        body = self.body.decode(errors="replace").strip()[:_SAID]
        return f"HTTP {self.status}{f': {body}' if body else ''}"


class Delivered(NamedTuple):
    """It is there. ``handle`` is what later deliveries of the episode need, such as the id of a message."""

    handle: str | None = None


class TryAgain(NamedTuple):
    """It may be there later. ``after_s``: how long the receiver asks all requests to wait."""

    why: str
    after_s: float | None = None


class SinkRefused(NamedTuple):
    """It never will be: a dead letter. ``body`` is the beginning of the answer."""

    why: str
    status: int
    body: bytes


class Gone(NamedTuple):
    """The receiver wants nothing any more."""

    why: str
    status: int
    body: bytes


Outcome = Delivered | TryAgain | SinkRefused | Gone


def judged(answer: SinkAnswer, now_s: float) -> Outcome:
    """Return what an answer means by its status alone.

    Args:
        answer: Answer of the sink's server.
        now_s: Seconds since 1970, for a `Retry-After` that is a date.

    >>> judged(SinkAnswer(429, {"retry-after": "7"}, b""), 0)
    TryAgain(why='HTTP 429', after_s=7.0)
    >>> judged(SinkAnswer(400, {}, b"no"), 0)
    SinkRefused(why='HTTP 400: no', status=400, body=b'no')
    """
    if 200 <= answer.status < 300:
        return Delivered()
    if answer.status in _AGAIN or answer.status >= 500:
        return TryAgain(answer.said, retry_after(answer.headers.get("retry-after"), now_s))
    return SinkRefused(answer.said, answer.status, answer.body)


def retry_after(value: str | None, now_s: float) -> float | None:
    """Return the seconds that a `Retry-After` asks for; None if it says nothing of use.

    Of no use is also more than an hour: a receiver's mistake must not keep alerts back for a day.

    >>> retry_after("30", 0), retry_after("Thu, 01 Jan 1970 00:00:09 GMT", 4), retry_after("soon", 0)
    (30.0, 5.0, None)
    >>> retry_after("1e400", 0), retry_after("3601", 0)
    (None, None)
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            at = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        seconds = at.replace(tzinfo=at.tzinfo or UTC).timestamp() - now_s
    return max(0.0, seconds) if seconds <= _LONGEST_WAIT_S else None
