"""Confluent's framing: which schema a value was written with, and where its data begins.

======================================  =====================================================
header ``__value_schema_id``            ``0x00`` + id or ``0x01`` + GUID; the value is bare data
value begins with ``0x00``              + 4 bytes big-endian schema id, then data
value begins with ``0x01``              + 16 bytes GUID, then data
value begins with ``{``                 JSON; blanks before it are allowed
======================================  =====================================================

The header wins over the value, as in Confluent's own "dual" deserialiser.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from schemas.reason import Reason, UndecodableError

Headers = Sequence[tuple[str, bytes | None]]
SchemaKey = int | UUID
"""What names a writer schema: a registry's id or its GUID."""

SCHEMA_ID_HEADER: Final = "__value_schema_id"
ID_BYTES: Final = 5
GUID_BYTES: Final = 17
_MAGIC: Final = (b"\x00", b"\x01")


class Framed(NamedTuple):
    """Data of a known schema: ``value[start:]`` was written with ``schema``."""

    schema: SchemaKey
    start: int


def prefix(schema_id: int) -> bytes:
    r"""Return the five bytes that go before the data.

    >>> prefix(9003001)
    b'\x00\x00\x89_\xf9'
    """
    return b"\x00" + schema_id.to_bytes(4, "big")


def named_schema(value: bytes, headers: Headers) -> SchemaKey | None:
    """Return the schema a value names; None when it names none, rightly or not."""
    try:
        framed = framing(value, headers)
    except UndecodableError:
        return None
    return None if framed is None else framed.schema


def framing(value: bytes, headers: Headers) -> Framed | None:
    """Tell which schema a value was written with; None when it is JSON.

    Raises:
        UndecodableError: the value is neither framed nor a JSON object.
    """
    for name, content in headers:
        if name == SCHEMA_ID_HEADER:
            named = _frame(content or b"")
            if named is None:
                raise UndecodableError(
                    Reason.UNDECODABLE, f"the header {SCHEMA_ID_HEADER} holds no schema id"
                )
            return Framed(named.schema, 0)
    first = value[:1]
    if first == b"{":
        return None
    if first in _MAGIC:
        framed = _frame(value)
        if framed is None:
            raise UndecodableError(Reason.UNDECODABLE, "the value ends inside its schema id")
        return framed
    if value.lstrip(b" \t\r\n")[:1] == b"{":
        return None
    raise UndecodableError(Reason.UNDECODABLE, "the value is neither Confluent-framed Avro nor a JSON object")


def _frame(data: bytes) -> Framed | None:
    match data[:1]:
        case b"\x00" if len(data) >= ID_BYTES:
            return Framed(int.from_bytes(data[1:ID_BYTES], "big"), ID_BYTES)
        case b"\x01" if len(data) >= GUID_BYTES:
            return Framed(UUID(bytes=data[1:GUID_BYTES]), GUID_BYTES)
        case _:
            return None
