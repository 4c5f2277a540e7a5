"""Records of a few bytes whose schema, which somebody registered, makes them heavy; and schemas of nobody."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from schemas.reason import Reason
from schemas.wire_format import prefix
from streams.core.domain.record import Outgoing
from tests.hostile.case import Attack, Case, Letter
from tests.hostile.ground import Ground
from tests.integration.load import decision


def _record(name: str, **types: object) -> dict[str, Any]:
    fields = [{"name": field, "type": type_} for field, type_ in types.items()]
    return {"type": "record", "name": name, "fields": fields}


def _doubling(levels: int) -> dict[str, Any]:
    """Return a schema of 2^levels values that take no bytes."""
    schema = _record("R0", a="null")
    for level in range(1, levels + 1):
        schema = _record(f"R{level}", a=schema, b=f"R{level - 1}")
    return schema


def _chain(links: int) -> dict[str, Any]:
    """Return a flat schema whose records name one another: as deep as Python's stack, and deeper."""
    fields: dict[str, object] = {"f0": _record("L0", a="int")}
    fields |= {f"f{link}": _record(f"L{link}", a=f"L{link - 1}") for link in range(1, links)}
    return _record("Chain", **fields)


def _framed(session: str, id_: int, data: bytes) -> Outgoing:
    return Outgoing(session.encode(), prefix(id_) + data, decision(session, 1)["meta"]["timestamp"], [])


def _registered(schema: Callable[[], object], data: bytes, reason: Reason, said: str) -> Attack:
    """Return an attack with a schema that is registered first; ``said`` may name it as {schema}."""

    async def attack(ground: Ground, session: str) -> Iterable[Letter]:
        id_ = ground.registry.add(json.dumps(schema()))
        record = _framed(session, id_, data)
        (offset,) = await ground.send(record)
        says = {"__streams.errors.message": said.format(schema=f"schema {id_}")}
        return [Letter(offset, reason, record.key, record.value, (), says)]

    return attack


async def _unknown(ground: Ground, session: str) -> Iterable[Letter]:
    records = [_framed(session, id_, b"x") for id_ in range(2_000_000, 2_000_500)]
    offsets = await ground.send(*records)
    return [
        Letter(offset, Reason.UNKNOWN_SCHEMA, record.key, record.value)
        for offset, record in zip(offsets, records, strict=True)
    ]


async def _not_understood(ground: Ground, session: str) -> Iterable[Letter]:
    """Name a GUID to a registry from before GUIDs, a schema one may not see, and an id that is too large."""
    guid = UUID(int=7)
    ground.registry.answers[f"/schemas/guids/{guid}"] = 404, '{"error_code": 404, "message": "Not Found"}'
    ground.registry.answers["/schemas/ids/7"] = 403, '{"error_code": 40301, "message": "denied"}'
    at = decision(session, 1)["meta"]["timestamp"]
    records = [
        Outgoing(session.encode(), b"\x01" + guid.bytes + b"x", at, []),
        _framed(session, 7, b"x"),
        _framed(session, 2**32 - 1, b"x"),
    ]
    offsets = await ground.send(*records)
    said = (
        f"schema {guid} is refused by the registry (HTTP 404)",
        "schema 7 is refused by the registry (HTTP 403)",
        "schema 4294967295 is not known: ids of schemas end at 2147483647",
    )
    return [
        Letter(
            offset,
            Reason.UNKNOWN_SCHEMA,
            record.key,
            record.value,
            (),
            {"__streams.errors.message": message},
        )
        for offset, record, message in zip(offsets, records, said, strict=True)
    ]


_TOO_MANY_VALUES = (
    "{schema} cannot be read: one R13 may hold more values than the limit of 100000, lists aside"
    " (a record counts as 9)"
)

CASES = (
    Case(
        "a record whose schema holds 2^40 values",
        _registered(lambda: _doubling(40), b"", Reason.UNKNOWN_SCHEMA, _TOO_MANY_VALUES),
    ),
    Case(
        "a record whose schema has 20,000 fields",
        _registered(
            lambda: _record("Flat", **{f"f{number}": "string" for number in range(20_000)}),
            b"",
            Reason.UNKNOWN_SCHEMA,
            "{schema} cannot be read: it has more parts than the limit of 50000",
        ),
    ),
    Case(
        "a record whose schema is a chain of 1,000 records",
        _registered(
            lambda: _chain(1_000),
            b"\x00" * 1_000,
            Reason.UNKNOWN_SCHEMA,
            "{schema} cannot be read: more than 100 of its types are inside one another",
        ),
    ),
    Case(
        "a record of a few bytes that claims a list of 2^40 records",
        _registered(
            lambda: _record("R", a={"type": "array", "items": _record("S", a="boolean")}),
            b"\x80\x80\x80\x80\x80\x40" + b"\x00" * 100,
            Reason.UNDECODABLE,
            "the data is not Avro of {schema}: its lists hold more values than the limit of 100000 and 2 for"
            " each byte (a value counts as 1, a record as 9)",
        ),
    ),
    Case("500 records with schemas that nobody registered", _unknown),
    Case("records with keys of schemas that the registry does not give", _not_understood),
)
