"""The schemas that values name, as readers: the bundled ones at once, a registry's as they are met."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from schemas.avro_cost import UnreadableSchemaError
from schemas.bundled import BundledSchema, by_id
from schemas.definition import definition
from schemas.json_reader import read_json
from schemas.reason import Reason, UndecodableError
from schemas.registered import AbsentSchema, RegisteredSchema
from schemas.value_reader import ValueReader, unreadable, value_reader
from schemas.wire_format import SchemaKey

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
