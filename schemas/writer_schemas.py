"""The schemas that values name, as readers: the bundled ones at once, a registry's as they are met."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Protocol

from schemas.bundled import BundledSchema, by_id
from schemas.json_reader import read_json
from schemas.reason import Reason, UndecodableError
from schemas.registry import RegisteredSchema
from schemas.value_reader import ValueReader, value_reader
from schemas.wire_format import SchemaKey

LOOKUPS_BEFORE_ASKING_AGAIN = 100


class SchemaSource(Protocol):
    """Where the schemas come from that are not bundled; `schemas.registry.Registry` is one."""

    async def schema(self, key: SchemaKey) -> RegisteredSchema | None:
        """Return the schema with an id or GUID; None when there is none."""


class WriterSchemas:
    """What `Decoder` asks for the reader of a schema.

    A schema that the source does not know is remembered as unknown: the next
    `LOOKUPS_BEFORE_ASKING_AGAIN` rounds (calls of `fetch` that need it) do not ask again, so that a
    producer with a wrong id does not turn into a flood of requests, and a schema that is registered
    late is found all the same.
    """

    def __init__(self, target: BundledSchema, source: SchemaSource | None) -> None:
        self._target = target
        self._source = source
        self._readers: dict[SchemaKey, ValueReader] = {
            schema.id: value_reader(schema.definition, target, schema.name)
            for schema in by_id().values()
            if schema.subject == target.subject
        }
        self._unknown: dict[SchemaKey, int] = {}

    def reader(self, key: SchemaKey) -> ValueReader:
        """Return the reader of a schema.

        Raises:
            UndecodableError: the schema is not known, or not one that can be read.
        """
        reader = self._readers.get(key)
        if reader is None:
            hint = "" if self._source else "; no schema registry is configured"
            raise UndecodableError(Reason.UNKNOWN_SCHEMA, f"schema {key} is not known{hint}")
        return reader

    async def fetch(self, keys: Iterable[SchemaKey]) -> None:
        """Get the schemas that are not known yet.

        Raises:
            InfrastructureError: the registry cannot be reached.
            ConfigurationError: the registry refuses, or is none.
        """
        if self._source is None:
            return
        for key in keys:
            if key in self._readers:
                continue
            rounds_left = self._unknown.get(key, 0)
            if rounds_left:
                self._unknown[key] = rounds_left - 1
                continue
            found = await self._source.schema(key)
            if found is None:
                self._unknown[key] = LOOKUPS_BEFORE_ASKING_AGAIN
            else:
                self._readers[key] = _registered(found, self._target, f"schema {key}")


def _registered(found: RegisteredSchema, target: BundledSchema, called: str) -> ValueReader:
    """Return the reader; where there cannot be one, a reader that says so for every value."""
    try:
        match found:
            case RegisteredSchema(kind="AVRO", has_references=False):
                return value_reader(_definition(found.text), target, called)
            case RegisteredSchema(kind="JSON"):
                return read_json
            case RegisteredSchema(kind="AVRO"):
                why = "refers to other subjects, which is not supported"
            case _:
                why = f"is {found.kind}, which is not supported"
    except UndecodableError as error:
        return _refusing(error.detail)
    return _refusing(f"{called} {why}")


def _refusing(detail: str) -> ValueReader:
    def value(_data: bytes, _start: int) -> dict[str, Any]:
        raise UndecodableError(Reason.UNKNOWN_SCHEMA, detail)

    return value


def _definition(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
