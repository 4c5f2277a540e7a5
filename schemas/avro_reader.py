"""A reader made for one pair of schemas: straight-line Python over the bytes, and strict about them.

A writer's schema and the one to read into are compared once, when the reader is made: fields the target
does not know are read over, absent ones get the target's default, and values keep the type they were
written with (an enum symbol is text, a whole number may stand for a double). Whether that type is the
right one is for validation to say, with the path of the field. Logical types are not applied.

Why not fastavro's own reader: it takes two to three times as long, and skipping a list of numbers in
truncated data it counts to whatever length the data claims. Here no bytes make the reader take more
time or memory than their length allows: a text is a slice, every item of a list takes at least one byte,
and `schemas.avro_bytes.Budget` bounds how many values lists may hold. No schema makes it either: what a
record holds beside its lists has a bound (`schemas.avro_cost`), and so has the work of making the reader.
The tests hold the two readers to the same values.

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

from schemas.avro_bytes import FREE_COST, RECORD_COST, Budget, integer, malformed, size
from schemas.avro_cost import Cost, UnreadableSchemaError, cost

_MOST_BRANCHES = 64
"""Branches that a union may have: up to here, its index takes one byte."""

_MOST_PLACES = 5_000
"""Types that a schema may have, branches of unions included: each takes about 0.1 ms to compile."""

_LENGTH = ["n = b[p]; p += 1", "if n & 129: n, p = size(b, p - 1)", "n = (n >> 1) + p"]

RecordReader = Callable[[bytes, int], tuple[dict[str, Any], int]]


def compile_reader(writer: Any, target: Mapping[str, Any]) -> RecordReader:
    r"""Return a function that reads a ``writer`` record at a position, and where it ends.

    Both schemas are as `fastavro.parse_schema` returns them: checked, every name a full name.

    The function raises `MalformedError`, `IndexError`, `struct.error` or `UnicodeDecodeError` for bytes that
    do not fit. Text that runs over the end comes back short with an end beyond that of the bytes: compare.

    >>> record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}
    >>> compile_reader(record, record)(b"\x04hi", 0)
    ({'a': 'hi'}, 3)

    Raises:
        UnreadableSchemaError: the writer schema is no record, a type contains itself, a list has items
            that take no bytes, a size is negative, a union has no branches or more than 64, or the schema
            or one record of it is larger than the limits.
    """
    if not (isinstance(writer, dict) and writer["type"] == "record"):
        raise UnreadableSchemaError("it is not a record")
    budget = Budget()
    scope: dict[str, Any] = {
        "double": struct.Struct("<d").unpack_from,
        "single": struct.Struct("<f").unpack_from,
        "integer": integer,
        "size": size,
        "malformed": malformed,
        "begin": budget.begin,
        "block": budget.block,
        "spend": budget.spend,
    }
    # The source is made of names quoted by repr, numbers, and nothing else from outside.
    exec(_Source(scope).text(writer, target), scope)  # noqa: S102
    reader: RecordReader = scope["read"]
    return reader


class _Source:
    """The functions written so far, and what the named types of the writer are."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self._scope = scope
        self._functions: list[str] = []
        self._places = 0
        self._types: dict[str, Mapping[str, Any]] = {}
        self._costs: dict[str, Cost] = {}
        self._symbols: dict[str, str] = {}
        self._records: dict[tuple[str, str | None, bool], str] = {}
        self._open: list[str] = []
        self._in_list = False

    def text(self, writer: Mapping[str, Any], target: Mapping[str, Any]) -> str:
        """Return the source of the function ``read`` and of those it calls."""
        name = self.record(writer, target)
        self._functions.append(f"def read(b, p):\n begin(len(b))\n return {name}(b, p)")
        return "\n".join(self._functions)

    def record(self, writer: Mapping[str, Any], target: Mapping[str, Any] | None) -> str:
        """Add the function of a record and return its name. Without a target it keeps every field."""
        full_name = writer["name"]
        if full_name in self._open:
            raise UnreadableSchemaError(f"{full_name} contains itself, so its data has no bound")
        pair = (full_name, None if target is None else target["name"], self._in_list)
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
        whole = self._costs[full_name] = cost(writer, self._costs)
        if whole.most > FREE_COST:
            raise UnreadableSchemaError(
                f"one {full_name} may hold more values than the limit of {FREE_COST}, lists aside"
                f" (a record counts as {1 + RECORD_COST})"
            )
        pairs = ", ".join(f"{name!r}: {value}" for name, value in _pairs(read, wanted))
        self._records[pair] = self._function([*lines, f"return {{{pairs}}}, p"])
        return self._records[pair]

    def _function(self, lines: list[str]) -> str:
        name = f"r{len(self._functions)}"
        self._functions.append("\n ".join([f"def {name}(b, p):", *lines]))
        return name

    def _statements(self, writer: Any, into: Any, variable: str) -> list[str]:
        """Return the statements that read a value at ``p`` into ``variable`` and move ``p`` behind it."""
        self._count_place()
        match writer:
            case str() if writer in self._types:
                return self._statements(self._types[writer], into, variable)
            case list():
                return self._union(writer, into, variable)
            case {"type": "record"}:
                return [f"{variable}, p = {self.record(writer, branch_of(into, 'record'))}(b, p)"]
            case {"type": "array", "items": items}:
                wanted = (branch_of(into, "array") or {}).get("items")
                return [f"{variable}, p = {self._repeated('[]', [], items, wanted, 'v.append(i)')}(b, p)"]
            case {"type": "map", "values": values}:
                key = self._statements("string", None, "k")
                wanted = (branch_of(into, "map") or {}).get("values")
                return [f"{variable}, p = {self._repeated('{}', key, values, wanted, 'v[k] = i')}(b, p)"]
            case {"type": "enum", "name": name, "symbols": symbols}:
                self._types[name] = writer
                # Not in the source, which has a line for each use.
                known = self._symbols.setdefault(name, f"s{len(self._symbols)}")
                self._scope[known] = tuple(symbols)
                return [*_LENGTH[:2], f"{variable} = {known}[n >> 1]"]
            case {"type": "fixed", "name": name, "size": size}:
                if size < 0:
                    raise UnreadableSchemaError(f"{name} has {size} bytes")
                self._types[name] = writer
                self._costs[name] = cost(writer, self._costs)
                # Unlike a text it has no length before it that would be missed at the end of the bytes.
                beyond = f"if p + {size:d} > len(b): malformed('the data ends early')"
                return [beyond, f"{variable} = b[p:p + {size:d}]; p += {size:d}"]
            case {"type": inner}:
                return self._statements(inner, into, variable)
            case _:
                return _primitive(writer, variable)

    def _count_place(self) -> None:
        self._places += 1
        if self._places > _MOST_PLACES:
            raise UnreadableSchemaError(f"it has more types than the limit of {_MOST_PLACES}")

    def _union(self, branches: list[Any], into: Any, variable: str) -> list[str]:
        if not 0 < len(branches) <= _MOST_BRANCHES:
            raise UnreadableSchemaError(f"it has a union of {len(branches)} branches")
        lines = ["u = b[p]; p += 1"]
        for index, branch in enumerate(branches):
            statements = [f" {line}" for line in self._statements(branch, into, variable)]
            if self._in_list and (least := cost(branch, self._costs).least) > 1:
                statements.insert(0, f" spend({least})")
            lines += [f"{'elif' if index else 'if'} u == {2 * index}:", *statements]
        return [*lines, "else: malformed('a union has no such branch')"]

    def _repeated(self, empty: str, key: list[str], items: Any, into: Any, add: str) -> str:
        outside, self._in_list = self._in_list, True
        item = [f"  {line}" for line in [*key, *self._statements(items, into, "i"), add]]
        self._in_list = outside
        each = cost(items, self._costs)
        if not key and not each.takes_bytes:
            raise UnreadableSchemaError("it has a list whose items take no bytes, so its data has no bound")
        paid = each.least + (1 if key else 0)
        loop = [f"c, p = block(b, p, {paid})", "if not c: return v, p", "for _ in range(c):", *item]
        return self._function([f"v = {empty}", "while True:", *(f" {line}" for line in loop)])


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


def branch_of(into: Any, kind: str) -> Any:
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
