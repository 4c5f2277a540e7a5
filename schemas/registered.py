"""Where a schema registry is, and what it holds: values, without the HTTP client that asks it."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from yarl import URL


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryAddress:
    """Where the registry is and how to get in.

    Attributes:
        url: URLs of the same registry, separated by commas; the next is asked where one does not answer. A
            user and password in the first are used.
        user: Name of a login by password.
        password: Password of that login.
        token: Returns the token of a login by bearer token, and is asked again when the registry refuses
            one; raises `OSError` where there is none now.
        headers: Sent with each request.
        tls: Authorities and certificate to use; None for what the system trusts.
        timeout_s: Limit of one request.
        attempts: Limit of all attempts of a request.
        give_up_after_s: Limit of their time together.
    """

    url: str = field(repr=False)
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: Callable[[], Awaitable[str]] | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    timeout_s: float = 10.0
    attempts: int = 8
    give_up_after_s: float = 45.0

    def shown(self) -> str:
        """Return the URLs without credentials, for messages.

        >>> RegistryAddress(url="https://me:secret@registry:8081/x").shown()
        'https://registry:8081/x'
        """
        return ", ".join(str(url.with_user(None)) for url in self.urls)

    @property
    def urls(self) -> list[URL]:
        """The URLs, one each."""
        return [URL(url.strip()) for url in self.url.split(",") if url.strip()]


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry keeps it: ``kind`` is AVRO, JSON or PROTOBUF, ``text`` its source."""

    kind: str
    text: str
    has_references: bool = False


@dataclass(frozen=True, slots=True)
class AbsentSchema:
    """There is no such schema for us; ``why`` completes "schema 7 ..."."""

    why: str
