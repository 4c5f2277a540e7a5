"""Twins of the reader and the writer of Avro, in the native core: the same values and bytes, sooner.

The native core walks along a plan of a schema, made here: names of types, and tuples of a name and what
belongs to it. What has no plan stays with Python, and so does every value that the native core cannot read or
write: Python says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from schemas.avro_reader import branch_of
from schemas.avro_writer import RecordWriter
from streams.core.native import NATIVE

if NATIVE.in_use:
    import eddy_native as core

ValueReader: TypeAlias = Callable[[bytes, int], dict[str, Any]]
Plan: TypeAlias = str | tuple[str, Any]

_MOST_PLACES = 1_000
"""Types that a plan may have: a type that stands at many places has its plan at each of them."""

_PRIMITIVES = {
    **{name: name for name in ("null", "string", "double", "boolean", "long")},
    "int": "long",
}


class _NoPlanError(Exception):
    """The native core does not know a type of the schema."""


def reader(writer: Any, target: Mapping[str, Any], in_python: ValueReader) -> ValueReader:
    """Return what reads data of a writer's schema as a target: the native core first, where it is in use.

    Both schemas are as `fastavro.parse_schema` returns them, and `schemas.avro_reader` has taken them.
    """
    plan = reading_plan(writer, target)
    if plan is None or not NATIVE.in_use:
        return in_python
    read = core.AvroReader(plan)

    def value(data: bytes, start: int) -> dict[str, Any]:
        record = read(data, start)
        return in_python(data, start) if record is None else record

    return value


def writer(definition: Mapping[str, Any], head: bytes, in_python: RecordWriter) -> RecordWriter:
    """Return what writes records of a schema behind ``head``: the native core first, where it is in use."""
    plan = writing_plan(definition)
    if plan is None or not NATIVE.in_use:
        return in_python
    write = core.AvroWriter(plan, head)

    def encode(fields: Mapping[str, Any]) -> bytes:
        written = write(fields)
        return in_python(fields) if written is None else written

    return encode


def reading_plan(writer: Any, target: Mapping[str, Any]) -> Plan | None:
    """Return the plan of reading data of a writer's schema as a target; None for one with a type of few.

    >>> one = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    >>> reading_plan(one, {**one, "fields": [{"name": "b", "type": "int", "default": 7}]})
    ('record', (('long',), (('b', None, 7),)))
    """
    try:
        return _reading(_Types(), writer, target)
    except _NoPlanError:
        return None


def writing_plan(definition: Mapping[str, Any]) -> Plan | None:
    """Return the plan of writing records of a schema; None for one with a type of few.

    >>> writing_plan({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]})
    ('record', (('a', 'long', False, None),))
    """
    try:
        return _writing(_Types(), definition)
    except _NoPlanError:
        return None


class _Types:
    """The named types of a schema, as far as they have been met, and how many places a plan has."""

    def __init__(self) -> None:
        self.named: dict[str, Mapping[str, Any]] = {}
        self._places = 0

    def resolved(self, schema: Any) -> Any:
        """Return what a name stands for, and any other type without what is put around it."""
        self._places += 1
        if self._places > _MOST_PLACES:
            raise _NoPlanError
        match schema:
            case str() if schema in self.named:
                return self.named[schema]
            case {"type": "record", "name": name}:
                self.named[name] = schema
                return schema
            case {"type": str() as type_} if type_ in _PRIMITIVES:
                return type_
            case _:
                return schema


def _reading(types: _Types, writer: Any, into: Any) -> Plan:
    """Return the plan of reading data of a type; ``into`` is what the target has there, if anything."""
    match types.resolved(writer):
        case str() as name if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        case list() as branches:
            return "union", tuple([_reading(types, branch, into) for branch in branches])
        case {"type": "record", "fields": fields}:
            return "record", _fields(types, fields, branch_of(into, "record"))
        case {"type": "array", "items": items}:
            return "array", _reading(types, items, (branch_of(into, "array") or {}).get("items"))
        case {"type": "map", "values": values}:
            return "map", _reading(types, values, (branch_of(into, "map") or {}).get("values"))
        case _:
            raise _NoPlanError


def _fields(types: _Types, fields: Sequence[Mapping[str, Any]], target: Any) -> tuple[Any, ...]:
    """Return the plans of the fields that are read, and the fields that the record has then.

    Each of those has its name, its place among the fields that are read, and what stands for it without one.
    """
    places = {field["name"]: number for number, field in enumerate(fields)}
    into: dict[str, Any] = {}
    returned: list[tuple[str, int | None, Any]] = []
    for field in fields if target is None else target["fields"]:
        name, default = field["name"], field.get("default")
        if name in places:
            returned.append((name, places[name], None))
        elif isinstance(default, dict | list):
            # Each record has lists and maps of its own, and that of a plan would be shared.
            raise _NoPlanError
        elif "default" in field:
            returned.append((name, None, default))
        if target is not None:
            into[name] = field["type"]
    read = [_reading(types, field["type"], into.get(field["name"])) for field in fields]
    return tuple(read), tuple(returned)


def _writing(types: _Types, schema: Any) -> Plan:
    match types.resolved(schema):
        case str() as name if name in _PRIMITIVES and name != "null":
            return _PRIMITIVES[name]
        case ["null", "long", "double"]:
            return "number"
        case ["null", other] if not isinstance(other, list):
            return "nullable", _writing(types, other)
        case {"type": "record", "fields": fields}:
            written = [
                (field["name"], _writing(types, field["type"]), "default" in field, field.get("default"))
                for field in fields
            ]
            return "record", tuple(written)
        case {"type": "array", "items": items}:
            return "array", _writing(types, items)
        case {"type": "map", "values": values}:
            return "map", _writing(types, values)
        case _:
            raise _NoPlanError
