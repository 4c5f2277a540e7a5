"""Avro object container files: DecisionLogs with the schema they were written with."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any, BinaryIO, Final
from uuid import UUID

import fastavro
import orjson
from fastavro.schema import SchemaParseException, UnknownType

from schemas.avro_cost import UnreadableSchemaError
from schemas.avro_reader import compile_reader
from streams.core.entry import Entry, session_key, undecodable
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import CERTAIN, NO, UnitKind, own_format

_MAGIC: Final = b"Obj\x01"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

# What fastavro raises on bytes that are not what the header promised; it has no exception of its own for it.
_DAMAGE = (
    ValueError,
    EOFError,
    OSError,
    LookupError,
    TypeError,
    OverflowError,
    MemoryError,  # a length that no file has
    struct.error,
    zlib.error,
    SchemaParseException,
    UnknownType,
    UnreadableSchemaError,
)


def read(stream: BinaryIO) -> Iterator[Entry]:
    """One entry per record of the container, read with the writer's schema.

    Fields a DecisionLog does not have are left to the check of the record, as in JSON. Logical types are
    undone (a timestamp is ms again, a UUID text, a decimal a number), because a DecisionLog knows none.

    Raises:
        ConfigurationError: the container is cut off or damaged; the records before the damage were yielded.
            Or its schema has records or lists of no bytes, or types that contain themselves: a few bytes
            would be read without end.
    """
    count = 0
    try:
        container = fastavro.reader(stream)
        _check_bounded(container.writer_schema)
        undo = "logicalType" in orjson.dumps(container.writer_schema).decode()
        for record in container:
            value = _plain(record) if undo else record
            count += 1
            if isinstance(value, dict):
                yield Entry(key=session_key(value), timestamp=None, value=value, raw=None)
            else:
                yield undecodable(orjson.dumps(value, default=str))
    except _DAMAGE as error:
        reason = str(error) or type(error).__name__
        raise ConfigurationError(
            f"damaged Avro container after record {count}: {reason}. Write the file again"
        ) from error


def _check_bounded(schema: Any) -> None:
    """Check that the records of a schema take bytes.

    Raises:
        UnreadableSchemaError: they need not.
    """
    records = {"name": "records", "type": {"type": "array", "items": schema}}
    parsed = fastavro.parse_schema({"type": "record", "name": "eddy.Container", "fields": [records]})
    assert isinstance(parsed, dict)
    compile_reader(parsed, parsed)


def _plain(value: Any) -> Any:
    """The value without logical types."""
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case datetime():
            moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return (moment - _EPOCH) // _MILLISECOND
        case UUID() | date() | time():
            return str(value)
        case Decimal():
            return float(value)
        case _:
            return value


def sniff(head: bytes, _name: str) -> int:
    """Recognise a container by its first four bytes, or by as many as a pipe has brought."""
    return CERTAIN if head and _MAGIC.startswith(head[: len(_MAGIC)]) else NO


FORMAT: Final = own_format(
    "avro", UnitKind.CONTAINER, sniff, lambda container, _number: read(BytesIO(container))
)._replace(container=read)
