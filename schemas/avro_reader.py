"""A reader made for one pair of schemas: straight-line Python over the bytes, and strict about them.

A writer's schema and the one to read into are compared once, when the reader is made: fields the target
does not know are read over, absent ones get the target's default, and values keep the type they were
written with (an enum symbol is text, a whole number may stand for a double). Whether that type is the
right one is for validation to say, with the path of the field. Logical types are not applied.

Why not fastavro's own reader: it takes two to three times as long, and skipping a list of numbers in
truncated data it counts to whatever length the data claims. Here no bytes make the reader take more
time or memory than their length allows: a text is a slice, and every item of a list takes at least
one byte. The tests hold the two readers to the same values.

A record becomes a function from bytes and position to value and position::

    def r1(b, p):
        n = b[p]
        p += 1
        if n & 129:
            n, p = size(b, p - 1)
        n = (n >> 1) + p
        f0 = b[p:n].decode()
        p = n
        return {"trace_id": f0, "cluster_id": None}, p
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_LONGEST = 10
"""Bytes of the longest 64-bit integer."""

_MOST_BRANCHES = 64
"""Of a union: so many have an index of one byte."""

_LENGTH = ["n = b[p]; p += 1", "if n & 129: n, p = size(b, p - 1)", "n = (n >> 1) + p"]

RecordReader = Callable[[bytes, int], tuple[dict[str, Any], int]]


class MalformedError(ValueError):
    """The bytes are not data of the schema."""


class UnreadableSchemaError(ValueError):
    """Data of the schema cannot be read, or not in bounded time and memory; the message says why."""


def compile_reader(writer: Any, target: Mapping[str, Any]) -> RecordReader:
    r"""Return a function that reads a ``writer`` record at a position and tells where it ends.

    Both schemas are as `fastavro.parse_schema` returns them: checked, every name a full name.

    The function raises `MalformedError`, `IndexError`, `struct.error` or `UnicodeDecodeError` for bytes that
    do not fit. Text that runs over the end comes back short with an end beyond that of the bytes: compare.

    >>> record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}
    >>> compile_reader(record, record)(b"\x04hi", 0)
    ({'a': 'hi'}, 3)

    Raises:
        UnreadableSchemaError: the writer schema is no record, a type contains itself, a list has items
            that take no bytes, a size is negative, or a union has no branches or more than 64.
    """
    source = _Source()
    if not (isinstance(writer, dict) and writer["type"] == "record"):
        raise UnreadableSchemaError("it is not a record")
    name = source.record(writer, target)
    scope: dict[str, Any] = {
        "double": struct.Struct("<d").unpack_from,
        "single": struct.Struct("<f").unpack_from,
        "integer": _integer,
        "size": _size,
        "block": _block,
        "malformed": _malformed,
    }
    # The source is made of names and symbols quoted by repr, numbers, and nothing else from outside.
    exec(source.text(), scope)  # noqa: S102
    reader: RecordReader = scope[name]
    return reader


def _integer(b: bytes, p: int) -> tuple[int, int]:
    """Return the integer at ``p`` as it is written (zig-zag), and where it ends."""
    number = shift = 0
    for position in range(p, p + _LONGEST):
        byte = b[position]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number >> 64:
                break
            return number, position + 1
        shift += 7
    raise MalformedError("an integer has more than 64 bits")


def _size(b: bytes, p: int) -> tuple[int, int]:
    """Return the length at ``p``, doubled as it is written, and where it ends."""
    number, end = _integer(b, p)
    if number & 1:
        raise MalformedError("a length is negative")
    return number, end


def _block(b: bytes, p: int) -> tuple[int, int]:
    """Return how many items the block at ``p`` has, and where they begin."""
    number, p = _integer(b, p)
    if number & 1:
        _, p = _size(b, p)
        return (number + 1) >> 1, p
    return number >> 1, p


def _malformed(what: str) -> None:
    raise MalformedError(what)


class _Source:
    """The functions written so far, and what the named types of the writer are."""

    def __init__(self) -> None:
        self._functions: list[str] = []
        self._types: dict[str, Mapping[str, Any]] = {}
        self._records: dict[tuple[str, str | None], str] = {}
        self._open: list[str] = []

    def text(self) -> str:
        return "\n".join(self._functions)

    def record(self, writer: Mapping[str, Any], target: Mapping[str, Any] | None) -> str:
        """Add the function of a record and return its name. Without a target it keeps every field."""
        full_name = writer["name"]
        if full_name in self._open:
            raise UnreadableSchemaError(f"{full_name} contains itself, so its data has no bound")
        pair = (full_name, None if target is None else target["name"])
        if pair in self._records:
            return self._records[pair]
        self._open.append(full_name)
        self._types[full_name] = writer
        wanted = None if target is None else {field["name"]: field for field in target["fields"]}
        lines, read = [], {}
        for number, field in enumerate(writer["fields"]):
            name = field["name"]
            into = None if wanted is None or name not in wanted else wanted[name]["type"]
            lines += self._statements(field["type"], into, f"f{number}")
            read[name] = f"f{number}"
        self._open.pop()
        pairs = ", ".join(f"{name!r}: {value}" for name, value in _pairs(read, wanted))
        self._records[pair] = self._function([*lines, f"return {{{pairs}}}, p"])
        return self._records[pair]

    def _function(self, lines: list[str]) -> str:
        name = f"r{len(self._functions)}"
        self._functions.append("\n ".join([f"def {name}(b, p):", *lines]))
        return name

    def _statements(self, writer: Any, into: Any, variable: str) -> list[str]:
        """Return the statements that read a value at ``p`` into ``variable`` and move ``p`` behind it."""
        match writer:
            case str() if writer in self._types:
                return self._statements(self._types[writer], into, variable)
            case list():
                return self._union(writer, into, variable)
            case {"type": "record"}:
                return [f"{variable}, p = {self.record(writer, _inner(into, 'record'))}(b, p)"]
            case {"type": "array", "items": items}:
                wanted = (_inner(into, "array") or {}).get("items")
                return [f"{variable}, p = {self._repeated('[]', [], items, wanted, 'v.append(i)')}(b, p)"]
            case {"type": "map", "values": values}:
                key = self._statements("string", None, "k")
                wanted = (_inner(into, "map") or {}).get("values")
                return [f"{variable}, p = {self._repeated('{}', key, values, wanted, 'v[k] = i')}(b, p)"]
            case {"type": "enum", "name": name, "symbols": symbols}:
                self._types[name] = writer
                return [*_LENGTH[:2], f"{variable} = {tuple(symbols)!r}[n >> 1]"]
            case {"type": "fixed", "name": name, "size": size}:
                if size < 0:
                    raise UnreadableSchemaError(f"{name} has {size} bytes")
                self._types[name] = writer
                # Unlike a text it has no length before it that would be missed at the end of the bytes.
                beyond = f"if p + {size:d} > len(b): malformed('the data ends early')"
                return [beyond, f"{variable} = b[p:p + {size:d}]; p += {size:d}"]
            case {"type": inner}:
                return self._statements(inner, into, variable)
            case _:
                return _primitive(writer, variable)

    def _union(self, branches: list[Any], into: Any, variable: str) -> list[str]:
        if not 0 < len(branches) <= _MOST_BRANCHES:
            raise UnreadableSchemaError(f"it has a union of {len(branches)} branches")
        lines = ["u = b[p]; p += 1"]
        for index, branch in enumerate(branches):
            statements = [f" {line}" for line in self._statements(branch, into, variable)]
            lines += [f"{'elif' if index else 'if'} u == {2 * index}:", *statements]
        return [*lines, "else: malformed('a union has no such branch')"]

    def _repeated(self, empty: str, key: list[str], items: Any, into: Any, add: str) -> str:
        item = [f"  {line}" for line in [*key, *self._statements(items, into, "i"), add]]
        if not key and not self._takes_bytes(items):
            raise UnreadableSchemaError("it has a list whose items take no bytes, so its data has no bound")
        loop = ["c, p = block(b, p)", "if not c: return v, p", "for _ in range(c):", *item]
        return self._function([f"v = {empty}", "while True:", *(f" {line}" for line in loop)])

    def _takes_bytes(self, schema: Any) -> bool:
        match schema:
            case "null":
                return False
            case str() if schema in self._types:
                return self._takes_bytes(self._types[schema])
            case {"type": "record", "fields": fields}:
                return any(self._takes_bytes(field["type"]) for field in fields)
            case {"type": "fixed", "size": size}:
                return bool(size)
            case {"type": "null"}:
                return False
            case _:
                return True


def _pairs(read: Mapping[str, str], wanted: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Yield the fields of the result and the expressions for their values."""
    if wanted is None:
        yield from read.items()
        return
    for name, field in wanted.items():
        if name in read:
            yield name, read[name]
        elif "default" in field:
            yield name, repr(field["default"])


def _inner(into: Any, kind: str) -> Any:
    """Return the target's type of a kind, which may stand in a union; None when there is none."""
    branches = into if isinstance(into, list) else [into]
    return next((b for b in branches if isinstance(b, dict) and b["type"] == kind), None)


def _primitive(writer: Any, variable: str) -> list[str]:
    match writer:
        case "null":
            return [f"{variable} = None"]
        case "string":
            return [*_LENGTH, f"{variable} = b[p:n].decode(); p = n"]
        case "bytes":
            return [*_LENGTH, f"{variable} = b[p:n]; p = n"]
        case "long" | "int":
            return [
                "n = b[p]; p += 1",
                "if n > 127: n, p = integer(b, p - 1)",
                f"{variable} = (n >> 1) ^ -(n & 1)",
            ]
        case "double":
            return [f"{variable}, = double(b, p); p += 8"]
        case "float":
            return [f"{variable}, = single(b, p); p += 4"]
        case "boolean":
            return ["n = b[p]; p += 1", "if n > 1: malformed('no boolean')", f"{variable} = n == 1"]
        case _:
            raise UnreadableSchemaError(f"the type {writer!r} is not known")
