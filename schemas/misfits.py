"""Which fields of a record do not fit a schema, by path and never by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_LEAST_LONG, _LARGEST_LONG = -(2**63), 2**63 - 1


def misfits(schema: Any, value: Any) -> tuple[str, ...]:
    """Return the paths that are unknown, missing or of another type, in the order of the record.

    ``schema`` is the JSON of a schema in which types are named without their namespace. A field with a
    default may be absent; a whole number may stand for a double.

    >>> schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}
    >>> misfits(schema, {"a": 1, "b": 2})
    ('b: unknown', 'a: not string')
    """
    return tuple(f"{path}: {what}" for path, what in _look(schema, value, "", dict(_named(schema))))


def _named(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield every named type of a schema."""
    match schema:
        case {"type": "record", "name": name, "fields": fields}:
            yield name, schema
            for field in fields:
                yield from _named(field["type"])
        case {"items": inner} | {"values": inner}:
            yield from _named(inner)
        case list():
            for branch in schema:
                yield from _named(branch)


def _look(schema: Any, value: Any, path: str, types: dict[str, Any]) -> Iterator[tuple[str, str]]:
    match schema:
        case str() if schema in types:
            yield from _look(types[schema], value, path, types)
        case str():
            if not _fits(schema, value):
                yield path, f"not {schema}"
        case list():
            found = [list(_look(branch, value, path, types)) for branch in schema]
            if all(found):
                # The last branch is the one that is not null: its complaints go deepest.
                yield from found[-1]
        case {"type": "record", "fields": fields}:
            yield from _record(fields, value, path, types)
        case _:
            yield from _items(schema, value, path, types)


def _items(schema: Any, value: Any, path: str, types: dict[str, Any]) -> Iterator[tuple[str, str]]:
    match schema, value:
        case {"type": "array", "items": items}, list() | tuple():
            for index, item in enumerate(value):
                yield from _look(items, item, f"{path}.{index}", types)
        case {"type": "map", "values": values}, Mapping():
            for key, item in value.items():
                yield from _look(values, item, f"{path}.{key}", types)
        case {"type": "array" | "map" as kind}, _:
            yield path, f"not a {'list' if kind == 'array' else kind}"
        case _:
            raise TypeError(f"no check for {schema!r}")


def _record(fields: Any, value: Any, path: str, types: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if not isinstance(value, Mapping):
        yield path, "not a record"
        return
    before = f"{path}." if path else ""
    known = {field["name"] for field in fields}
    yield from ((f"{before}{name}", "unknown") for name in value if name not in known)
    for field in fields:
        name = field["name"]
        if name in value:
            yield from _look(field["type"], value[name], before + name, types)
        elif "default" not in field:
            yield before + name, "missing"


def _fits(primitive: str, value: Any) -> bool:
    match primitive:
        case "null":
            return value is None
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            return (
                isinstance(value, int)
                and not isinstance(value, bool)
                and _LEAST_LONG <= value <= _LARGEST_LONG
            )
        case "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            raise TypeError(f"no check for {primitive!r}")
