"""From the writer's schema to a function that reads values as the newest version of a subject."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import fastavro

from schemas import native_avro
from schemas.avro_bytes import MalformedError
from schemas.avro_cost import UnreadableSchemaError
from schemas.avro_reader import compile_reader
from schemas.bundled import BundledSchema
from schemas.reason import Reason, UndecodableError

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
