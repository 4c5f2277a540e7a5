"""The Schema Registry over HTTP: the few requests Eddy needs, with retries."""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Self
from uuid import UUID

import aiohttp
import stamina
from yarl import URL

from streams.errors import ConfigurationError, InfrastructureError

_JSON = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND_CODES = frozenset({40401, 40402, 40403})
"""Subject, version or schema not found. Any other 404 does not come from a registry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryAddress:
    """Where the registry is and how to get in.

    A user and password in the URL are used as well. ``ca_file`` is a PEM file with the authority that
    signed the registry's certificate, None for those the system trusts. ``timeout_s`` bounds one
    request, ``attempts`` and ``give_up_after_s`` all attempts of one.
    """

    url: str = field(repr=False)
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    timeout_s: float = 10.0
    attempts: int = 8
    give_up_after_s: float = 45.0

    def shown(self) -> str:
        """Return the URL without credentials, for messages.

        >>> RegistryAddress(url="https://me:secret@registry:8081/x").shown()
        'https://registry:8081/x'
        """
        return str(URL(self.url).with_user(None))


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry keeps it: ``kind`` is AVRO, JSON or PROTOBUF, ``text`` its source."""

    kind: str
    text: str
    has_references: bool = False


class _TemporaryError(Exception):
    """The registry did not answer, or said it cannot at the moment."""


class Registry:
    """A connection to a registry. Make it inside the event loop; close it, or use it in ``async with``.

    Every method raises `InfrastructureError` when the registry cannot be reached, also after retries, and
    `ConfigurationError` when it refuses the credentials or does not answer like a registry.
    """

    def __init__(self, address: RegistryAddress) -> None:
        self._address = address
        url = URL(address.url)
        user, password = address.user or url.user, address.password or url.password
        headers = {"Accept": f"{_JSON}, application/json"}
        if user:
            login = b64encode(f"{user}:{password or ''}".encode()).decode()
            headers["Authorization"] = f"Basic {login}"
        self._root = url.with_user(None)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=_trust(address.ca_file)),
            timeout=aiohttp.ClientTimeout(total=address.timeout_s),
            headers=headers,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection."""
        await self._session.close()

    async def schema(self, key: int | UUID) -> RegisteredSchema | None:
        """Return the schema with an id or a GUID; None when there is none."""
        kind = "guids" if isinstance(key, UUID) else "ids"
        found = await self._ask("GET", "schemas", kind, str(key))
        if found is None:
            return None
        return RegisteredSchema(
            found.get("schemaType", "AVRO"), str(found.get("schema")), bool(found.get("references"))
        )

    async def id_of(self, subject: str, definition: Any) -> int | None:
        """Return the id of a schema that is registered under a subject; None when it is not."""
        found = await self._ask("POST", "subjects", subject, body={"schema": json.dumps(definition)})
        return None if found is None else int(found["id"])

    async def register(self, subject: str, definition: Any) -> int:
        """Register a schema under a subject, unless it is there already, and return its id.

        Raises:
            ConfigurationError: the subject's compatibility rule refuses the schema.
        """
        body = {"schema": json.dumps(definition)}
        found = await self._ask("POST", "subjects", subject, "versions", body=body)
        if found is None:
            raise self._not_a_registry("404 for a registration")
        return int(found["id"])

    async def require(self, subject: str, compatibility: str) -> None:
        """Set the compatibility rule of a subject, such as ``FULL_TRANSITIVE``."""
        await self._ask("PUT", "config", subject, body={"compatibility": compatibility})

    async def _ask(self, method: str, *path: str, body: Any = None) -> dict[str, Any] | None:
        try:
            async for attempt in stamina.retry_context(
                on=_TemporaryError,
                attempts=self._address.attempts,
                timeout=self._address.give_up_after_s,
                wait_jitter=0.1,
            ):
                with attempt:
                    return await self._ask_once(method, path, body)
        except _TemporaryError as error:
            raise InfrastructureError(
                f"the schema registry {self._address.shown()} does not answer ({error}). Check that it runs"
                " and can be reached from here; the worker stops and will go on where it was"
            ) from error
        raise AssertionError("retries end with an answer or an error")

    async def _ask_once(self, method: str, path: tuple[str, ...], body: Any) -> dict[str, Any] | None:
        url = self._root
        for part in path:
            url /= part
        headers = {} if body is None else {"Content-Type": _JSON}
        data = None if body is None else json.dumps(body)
        try:
            async with self._session.request(method, url, data=data, headers=headers) as response:
                status, text = response.status, await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _TemporaryError(type(error).__name__) from error
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
            raise _TemporaryError(f"HTTP {status}")
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise ConfigurationError(
                f"the schema registry {self._address.shown()} refuses {method} {url.path} (HTTP {status}):"
                " check the registry user and password, and what that user may do"
            )
        return self._answer(status, text)

    def _answer(self, status: int, text: bytes) -> dict[str, Any] | None:
        try:
            answer = json.loads(text)
        except ValueError as error:
            raise self._not_a_registry(f"HTTP {status} without JSON") from error
        if not isinstance(answer, dict):
            raise self._not_a_registry(f"HTTP {status} without a JSON object")
        if status == HTTPStatus.OK:
            return answer
        if status == HTTPStatus.NOT_FOUND and answer.get("error_code") in _NOT_FOUND_CODES:
            return None
        if status in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY):
            raise ConfigurationError(
                f"the schema registry {self._address.shown()} does not accept the schema:"
                f" {answer.get('message', f'HTTP {status}')}"
            )
        raise self._not_a_registry(f"HTTP {status}")

    def _not_a_registry(self, why: str) -> ConfigurationError:
        return ConfigurationError(
            f"{self._address.shown()} does not answer like a schema registry ({why}): check the registry URL"
        )


def _trust(ca_file: str | None) -> ssl.SSLContext | bool:
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"the registry's CA file {ca_file} cannot be read: {error}") from error
