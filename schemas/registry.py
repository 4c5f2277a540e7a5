"""The Schema Registry over HTTP: the few requests Eddy needs, with retries."""

from __future__ import annotations

import json
from base64 import b64encode
from http import HTTPStatus
from typing import Any, NamedTuple, Self
from uuid import UUID

import aiohttp
import stamina
from yarl import URL

from schemas.registered import AbsentSchema, RegisteredSchema, RegistryAddress
from streams.core.errors import ConfigurationError, InfrastructureError

_JSON = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND_CODES = frozenset({40401, 40402, 40403})
"""Subject, version or schema not found. Any other 404 is that of a web server without such a page."""

_TEMPORARY = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})

MOST_ANSWER_BYTES = 8 << 20
"""Longest answer of the registry. The largest schema takes less, however it is escaped."""

LARGEST_ID = 2**31 - 1
"""Registries count ids in 32 bits with a sign. A value can name twice as many."""


class _TemporaryError(Exception):
    """The registry did not answer, or said it cannot at the moment."""


class _TooLargeError(Exception):
    """The answer has more than `MOST_ANSWER_BYTES`."""


class _Answer(NamedTuple):
    status: int
    text: bytes


class Registry:
    """A connection to a registry. Make it inside the event loop; close it, or use it in ``async with``.

    Every method raises `InfrastructureError` when the registry cannot be reached, also after retries, and
    `ConfigurationError` when it refuses the credentials or does not answer like a registry.
    """

    def __init__(self, address: RegistryAddress) -> None:
        self._address = address
        first = address.urls[0]
        user, password = address.user or first.user, address.password or first.password
        headers = {"Accept": f"{_JSON}, application/json", "Accept-Encoding": "identity"}
        headers |= address.headers
        if user:
            login = b64encode(f"{user}:{password or ''}".encode()).decode()
            headers["Authorization"] = f"Basic {login}"
        self._roots = [url.with_user(None) for url in address.urls]
        self._answers = 0
        """Which of the roots has answered last."""
        self._token: str | None = None
        self._has_let_in = False
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=True if address.tls is None else address.tls),
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

    async def schema(self, key: int | UUID, beside: str) -> RegisteredSchema | AbsentSchema:
        """Return the schema with an id or a GUID.

        ``beside`` is a subject that the registry should let us read. Records choose the key. So where the
        registry answers for that subject as it should, a refusal is about this schema alone.
        """
        if isinstance(key, int) and key > LARGEST_ID:
            return AbsentSchema(f"is not known: ids of schemas end at {LARGEST_ID}")
        path = ("schemas", "guids" if isinstance(key, UUID) else "ids", str(key))
        try:
            answer = await self._ask("GET", path)
        except _TooLargeError:
            return AbsentSchema(f"has more than the limit of {MOST_ANSWER_BYTES} bytes in the registry")
        if _is_refusal(answer) and await self._answers_for(beside, answer.status):
            return AbsentSchema(f"is refused by the registry (HTTP {answer.status})")
        found = self._said("GET", path, answer)
        if found is None:
            return AbsentSchema("is not known")
        return RegisteredSchema(
            found.get("schemaType") or "AVRO", str(found.get("schema")), bool(found.get("references"))
        )

    async def _answers_for(self, subject: str, status: int) -> bool:
        """Tell whether a refusal with ``status`` is an exception: the registry answers for a subject."""
        answer = await self._ask("GET", ("subjects", subject, "versions", "latest"))
        return answer.status == HTTPStatus.OK or (status != HTTPStatus.FORBIDDEN and _is_not_found(answer))

    async def id_of(self, subject: str, definition: Any) -> int | None:
        """Return the id of a schema that is registered under a subject; None when it is not."""
        found = await self._request("POST", ("subjects", subject), {"schema": json.dumps(definition)})
        return None if found is None else int(found["id"])

    async def register(self, subject: str, definition: Any) -> int:
        """Register a schema under a subject, unless it is there already, and return its id.

        Raises:
            ConfigurationError: the subject's compatibility rule refuses the schema.
        """
        body = {"schema": json.dumps(definition)}
        found = await self._request("POST", ("subjects", subject, "versions"), body)
        if found is None:
            raise self._not_a_registry("404 for a registration")
        return int(found["id"])

    async def require(self, subject: str, compatibility: str) -> None:
        """Set the compatibility rule of a subject, such as ``FULL_TRANSITIVE``."""
        await self._request("PUT", ("config", subject), {"compatibility": compatibility})

    async def _request(self, method: str, path: tuple[str, ...], body: Any) -> dict[str, Any] | None:
        try:
            answer = await self._ask(method, path, body)
        except _TooLargeError as error:
            raise self._not_a_registry(f"more than {MOST_ANSWER_BYTES} bytes") from error
        return self._said(method, path, answer)

    async def _ask(self, method: str, path: tuple[str, ...], body: Any = None) -> _Answer:
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
                f"the schema registry {self._address.shown()} does not answer {method} /{'/'.join(path)}"
                f" ({error}). Check that it runs and can be reached from here. A worker that is started again"
                " continues where it was"
            ) from error
        raise AssertionError("retries end with an answer or an error")

    async def _ask_once(self, method: str, path: tuple[str, ...], body: Any) -> _Answer:
        """Ask one URL after another, first the one that has answered last."""
        await self._login()
        failed = _TemporaryError("there is no URL")
        for number in (*range(self._answers, len(self._roots)), *range(self._answers)):
            try:
                answer = await self._ask_root(self._roots[number], method, path, body)
            except _TemporaryError as error:
                failed = error
            else:
                self._answers = number
                return answer
        raise failed

    async def _ask_root(self, root: URL, method: str, path: tuple[str, ...], body: Any) -> _Answer:
        kept = self._token
        answer = await self._send(root, method, path, body)
        if answer.status == HTTPStatus.UNAUTHORIZED and kept is not None:
            if self._token == kept:  # else another request has asked for a fresh one already
                self._token = None
            await self._login()
            if self._token == kept and self._has_let_in:
                self._token = None
                raise _TemporaryError("the token has ended, and there is no newer one")
            answer = await self._send(root, method, path, body)
        self._has_let_in = self._has_let_in or answer.status == HTTPStatus.OK
        return answer

    async def _login(self) -> None:
        """Ask for a token where one is needed and none is kept."""
        if self._address.token is not None and self._token is None:
            try:
                self._token = await self._address.token()
            except OSError as error:
                raise _TemporaryError(str(error)) from error

    async def _send(self, url: URL, method: str, path: tuple[str, ...], body: Any) -> _Answer:
        for part in path:
            url /= part
        headers = {} if body is None else {"Content-Type": _JSON}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body)
        try:
            # A redirect would carry what lets us in to another host.
            asked = self._session.request(method, url, data=data, headers=headers, allow_redirects=False)
            async with asked as response:
                answer = _Answer(response.status, await _bounded(response.content))
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _TemporaryError(type(error).__name__) from error
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status in _TEMPORARY:
            raise _TemporaryError(f"HTTP {answer.status}")
        return answer

    def _said(self, method: str, path: tuple[str, ...], answer: _Answer) -> dict[str, Any] | None:
        """Return the JSON object of an answer; None when it says that there is no such thing."""
        status = answer.status
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise ConfigurationError(
                f"the schema registry {self._address.shown()} refuses {method} /{'/'.join(path)} (HTTP"
                f" {status}): check the registry user and password, or its token, and what that user may do"
            )
        if _is_not_found(answer):
            return None
        said = _object(answer)
        if said is None:
            raise self._not_a_registry(f"HTTP {status} without a JSON object")
        if status == HTTPStatus.OK:
            return said
        if status in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY):
            raise ConfigurationError(
                f"the schema registry {self._address.shown()} does not accept the schema:"
                f" {said.get('message', f'HTTP {status}')}"
            )
        raise self._not_a_registry(f"HTTP {status}")

    def _not_a_registry(self, why: str) -> ConfigurationError:
        return ConfigurationError(
            f"{self._address.shown()} does not answer like a schema registry ({why}): check the registry URL"
        )


def _is_refusal(answer: _Answer) -> bool:
    """Tell whether a registry may answer so for one schema, though it does not say that there is none."""
    others = answer.status not in (HTTPStatus.OK, HTTPStatus.UNAUTHORIZED)
    return others and not _is_not_found(answer)


def _is_not_found(answer: _Answer) -> bool:
    said = _object(answer) if answer.status == HTTPStatus.NOT_FOUND else None
    return said is not None and said.get("error_code") in _NOT_FOUND_CODES


def _object(answer: _Answer) -> dict[str, Any] | None:
    try:
        said = json.loads(answer.text)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


async def _bounded(content: aiohttp.StreamReader) -> bytes:
    read = bytearray()
    async for chunk in content.iter_any():
        read += chunk
        if len(read) > MOST_ANSWER_BYTES:
            raise _TooLargeError
    return bytes(read)
