"""The schemas that values name, as readers: the bundled ones at once, a registry's as they are met."""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

import fastavro

from schemas import native_avro
from schemas.avro_bytes import MalformedError
from schemas.avro_cost import UnreadableSchemaError
from schemas.avro_reader import compile_reader
from schemas.bundled import BundledSchema, by_id
from schemas.json_reader import read_json
from schemas.reason import Reason, UndecodableError
from schemas.registered import AbsentSchema, RegisteredSchema
from schemas.wire_format import SchemaKey

ValueReader = Callable[[bytes, int], dict[str, Any]]
"""Reads the data of ``value[start:]``; raises `UndecodableError` and nothing else."""


def value_reader(writer: Any, target: BundledSchema, called: str) -> ValueReader:
    """Return the reader for data of a writer schema, given as decoded JSON that may come from anybody.

    ``called`` is how messages name the schema.

    Raises:
        UndecodableError: (`Reason.UNKNOWN_SCHEMA`) it is not a schema, or one whose data cannot be read.
    """
    try:
        # fastavro trusts a schema that says it was parsed before.
        unmarked = {key: item for key, item in writer.items() if not key.startswith("__")}
        parsed = fastavro.parse_schema(unmarked)
        read = compile_reader(parsed, target.parsed)
    except UnreadableSchemaError as error:
        raise unreadable(called, error) from error
    except Exception as error:
        raise UndecodableError(Reason.UNKNOWN_SCHEMA, f"{called} is not a valid Avro schema") from error

    def value(data: bytes, start: int) -> dict[str, Any]:
        try:
            record, end = read(data, start)
        except MalformedError as error:
            raise UndecodableError(
                Reason.UNDECODABLE, f"the data is not Avro of {called}: {error}"
            ) from error
        except (IndexError, struct.error, UnicodeDecodeError) as error:
            raise UndecodableError(Reason.UNDECODABLE, f"the data is not Avro of {called}") from error
        if end != len(data):
            raise UndecodableError(Reason.UNDECODABLE, f"the data does not end with its record of {called}")
        return record

    return native_avro.reader(parsed, target.parsed, value)


def unreadable(called: str, why: UnreadableSchemaError) -> UndecodableError:
    """Return the error for values of a schema that cannot be read."""
    return UndecodableError(Reason.UNKNOWN_SCHEMA, f"{called} cannot be read: {why}")


MOST_CHARACTERS: Final = 1 << 20
"""Longest text of a schema: registries keep it in one Kafka record, which takes no more by default."""

MOST_PARTS: Final = 50_000
"""JSON values of all kinds in a definition."""

MOST_DEPTH: Final = 400
"""Of JSON values in one another."""

LONGEST_NAME: Final = 1_000
"""Characters of a text that can be part of names. Each type has a full name, with that of its namespace."""


def definition(text: str) -> Any:
    """Return the decoded JSON.

    Raises:
        UnreadableSchemaError: it is not JSON, or larger than one of the limits, which the message names.
    """
    if len(text) > MOST_CHARACTERS:
        raise UnreadableSchemaError(
            f"it has {len(text)} characters, more than the limit of {MOST_CHARACTERS}"
        )
    try:
        decoded = json.loads(text)
    except RecursionError:
        raise UnreadableSchemaError(f"its JSON is more than {MOST_DEPTH} levels deep") from None
    except ValueError as error:
        raise UnreadableSchemaError("it is not JSON") from error
    _check(decoded)
    return decoded


def _check(decoded: Any) -> None:
    level, parts = [decoded], 0
    for _ in range(MOST_DEPTH):
        parts += len(level)
        if parts > MOST_PARTS:
            raise UnreadableSchemaError(f"it has more parts than the limit of {MOST_PARTS}")
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                _check_names(value)
                below += value.values()
            elif isinstance(value, list):
                below += value
        if not below:
            return
        level = below
    raise UnreadableSchemaError(f"its JSON is more than {MOST_DEPTH} levels deep")


def _check_names(part: dict[str, Any]) -> None:
    for key in ("name", "namespace"):
        name = part.get(key)
        if isinstance(name, str) and len(name) > LONGEST_NAME:
            raise UnreadableSchemaError(f"it has a {key} of more than {LONGEST_NAME} characters")


ABSENT_FOR_S = 30.0
"""So long the source is not asked again for a schema that it does not have."""

MOST_ABSENT = 10_000
"""Remembered at most: producers can name any number of schemas that are not there."""

MOST_READERS = 500
"""Schemas kept at most. A dropped one is fetched again when a value names it."""

ASKED_AT_ONCE = 8
"""Requests to the source at a time, so that many unknown schemas in one run do not take many round trips."""


class SchemaSource(Protocol):
    """Where the schemas come from that are not bundled; `schemas.registry.Registry` is one."""

    async def schema(self, key: SchemaKey, beside: str) -> RegisteredSchema | AbsentSchema:
        """Return the schema with an id or GUID; ``beside`` names a subject that should be there."""


def silent() -> None:
    """Report nothing."""


class WriterSchemas:
    """What `Decoder` asks for the reader of a schema.

    A schema that the source does not have is remembered for `ABSENT_FOR_S`, so that a producer with a wrong
    id does not become a flood of requests. After that the source is asked again: someone may have
    registered the schema.
    """

    def __init__(
        self, target: BundledSchema, source: SchemaSource | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._target = target
        self._source = source
        self._clock = clock
        self._bundled: dict[SchemaKey, ValueReader] = {
            schema.id: value_reader(schema.definition, target, schema.name)
            for schema in by_id().values()
            if schema.subject == target.subject
        }
        #: Those that were needed last come last.
        self._fetched: dict[SchemaKey, ValueReader] = {}
        #: What each call of `fetch` needs that has not returned.
        self._underway: list[set[SchemaKey]] = []
        #: In the order in which they end.
        self._absent: dict[SchemaKey, tuple[float, str]] = {}

    def reader(self, key: SchemaKey) -> ValueReader:
        """Return the reader of a schema.

        Raises:
            UndecodableError: the schema is not known, or not one that can be read.
        """
        reader = self._bundled.get(key) or self._fetched.get(key)
        if reader is None:
            _, why = self._absent.get(key, (0.0, "is not known"))
            hint = "" if self._source else "; no schema registry is configured"
            raise UndecodableError(Reason.UNKNOWN_SCHEMA, f"schema {key} {why}{hint}")
        return reader

    async def fetch(self, keys: Iterable[SchemaKey], progress: Callable[[], None] = silent) -> None:
        """Get the schemas that are not known yet; ``progress`` hears of each answer.

        Ask for the readers before anything else can run: another call may drop them to make room.

        Raises:
            InfrastructureError: the registry cannot be reached.
            ConfigurationError: the registry refuses, or is none.
        """
        if self._source is None:
            return
        wanted = set(named := list(keys))
        self._underway.append(wanted)
        self._forget()
        missing = [key for key in dict.fromkeys(named) if not self._knows(key)]
        rest = iter(missing)
        tasks = [
            asyncio.create_task(self._fetch_each(rest, self._source, progress))
            for _ in missing[:ASKED_AT_ONCE]
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            self._underway.remove(wanted)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _knows(self, key: SchemaKey) -> bool:
        return key in self._bundled or key in self._fetched or key in self._absent

    def _forget(self) -> None:
        """Drop what has ended and what is too many, but no reader that a run needs: partitions take turns."""
        now = self._clock()
        for key in list(self._absent):
            if self._absent[key][0] > now and len(self._absent) <= MOST_ABSENT:
                break
            del self._absent[key]
        needed = set[SchemaKey]().union(*self._underway)
        for key in self._fetched.keys() & self._underway[-1]:
            self._fetched[key] = self._fetched.pop(key)
        too_many = max(0, len(self._fetched) - MOST_READERS)
        for key in list(self._fetched)[:too_many]:
            if key not in needed:
                del self._fetched[key]

    async def _fetch_each(
        self, missing: Iterable[SchemaKey], source: SchemaSource, progress: Callable[[], None]
    ) -> None:
        for key in missing:
            found = await source.schema(key, self._target.subject)
            if isinstance(found, AbsentSchema):
                self._absent[key] = self._clock() + ABSENT_FOR_S, found.why
            else:
                self._fetched[key] = _registered(found, self._target, f"schema {key}")
            progress()


def _registered(found: RegisteredSchema, target: BundledSchema, called: str) -> ValueReader:
    """Return the reader; where there cannot be one, a reader that says so for every value."""
    try:
        match found:
            case RegisteredSchema(kind="AVRO", has_references=False):
                return value_reader(definition(found.text), target, called)
            case RegisteredSchema(kind="JSON"):
                return read_json
            case RegisteredSchema(kind="AVRO"):
                why = "refers to other subjects, which is not supported"
            case _:
                why = f"is {found.kind}, which is not supported"
    except UnreadableSchemaError as error:
        return _refusing(unreadable(called, error).detail)
    except UndecodableError as error:
        return _refusing(error.detail)
    return _refusing(f"{called} {why}")


def _refusing(detail: str) -> ValueReader:
    def value(_data: bytes, _start: int) -> dict[str, Any]:
        raise UndecodableError(Reason.UNKNOWN_SCHEMA, detail)

    return value
