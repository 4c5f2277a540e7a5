"""Values of the input topic: framing, Avro by the bundled schema, and Avro by schemas a registry may hold."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import fastavro
import orjson

from schemas.avro_bytes import MalformedError
from schemas.avro_cost import UnreadableSchemaError
from schemas.avro_reader import compile_reader
from schemas.bundled import latest
from schemas.codec import Codec, UndecodableError
from streams.formats.recordings.catalogue import RECORDINGS
from tests.fuzz.choices import Choices
from tests.fuzz.target import Target
from tests.unit.schemas.samples import fullest, smallest

SUBJECT = "decision-logs-value"
REFUSALS = (MalformedError, IndexError, struct.error, UnicodeDecodeError)
_SCHEMA = latest(SUBJECT)
_DECODER = Codec.bundled().decoder(SUBJECT)
_ENCODER = Codec.bundled().encoder(SUBJECT)
_READ = compile_reader(_SCHEMA.parsed, _SCHEMA.parsed)


def attack_value(data: bytes) -> None:
    """A value and its headers give a record of JSON-able values, or an `UndecodableError`."""
    choices = Choices(data)
    headers = [("__value_schema_id", choices.bytes(20))] if choices.byte() > 240 else []
    value = choices.rest()
    try:
        record = _DECODER.decode(value, headers)
    except UndecodableError:
        return
    assert type(record) is dict


def attack_avro(data: bytes) -> None:
    """The generated reader and fastavro read the same, or both refuse."""
    agree(_READ, _SCHEMA.parsed, _SCHEMA.parsed, data)


def attack_schema(data: bytes) -> None:
    """A schema from a registry either is refused, or its data is read as fastavro reads it."""
    choices = Choices(data)
    schema = _record(choices, 0, [])
    target = choices.one_of([schema, _SCHEMA.definition])
    try:
        parsed, wanted = fastavro.parse_schema(schema), fastavro.parse_schema(target)
    except Exception:  # noqa: BLE001 - fastavro says in many ways that it is no schema
        return
    try:
        read = compile_reader(parsed, wanted)
    except UnreadableSchemaError:
        return
    agree(read, parsed, None if target is not schema else wanted, choices.rest())


def agree(read: Callable[[bytes, int], tuple[Any, int]], schema: Any, target: Any, data: bytes) -> None:
    """Hold what a reader makes of data against fastavro.

    fastavro takes what the specification does not: bytes that end early, integers of any length. What it
    read counts where it is written as the same bytes again.
    """
    try:
        ours, end = read(data, 0)
    except REFUSALS:
        ours, end = None, -1
    accepted = 0 <= end <= len(data)
    if target is None:
        return
    stream = io.BytesIO(data)
    try:
        theirs = fastavro.schemaless_reader(stream, schema, target)
    except Exception as error:
        if accepted:
            raise AssertionError("fastavro refuses") from error
        return
    if accepted:
        assert (repr(ours), end) == (repr(theirs), stream.tell())
    else:
        assert not _is_written(schema, theirs, data[: stream.tell()]), f"fastavro reads {theirs!r}"


def _is_written(schema: Any, value: Any, data: bytes) -> bool:
    again = io.BytesIO()
    try:
        fastavro.schemaless_writer(again, schema, value)
    except Exception:  # noqa: BLE001 - the text of a name that is read as another type, for one
        return False
    return again.getvalue() == data


_PRIMITIVES = ("null", "string", "bytes", "long", "int", "double", "float", "boolean")
_NAMES = ("a", "session_id", "meta", "action", "b", "__c", "None", "class", "f0", "é", "a b", "'", "x" * 300)


def _record(choices: Choices, depth: int, named: list[str]) -> dict[str, Any]:
    name = choices.one_of([f"R{len(named)}", *named, "Ünicode", "R.", ""])
    named.append(name)
    fields = [
        {"name": choices.one_of(_NAMES), "type": _type(choices, depth + 1, named)}
        | ({"default": choices.json(2)} if choices.byte() > 200 else {})
        for _ in range(choices.byte() % 5)
    ]
    return {"type": "record", "name": name, "fields": fields}


def _type(choices: Choices, depth: int, named: list[str]) -> Any:
    kind = choices.byte() % (14 if depth < 5 else 8)
    match kind:
        case 8:
            return _record(choices, depth, named)
        case 9:
            return {"type": "array", "items": _type(choices, depth + 1, named)}
        case 10:
            return {"type": "map", "values": _type(choices, depth + 1, named)}
        case 11:
            return [_type(choices, depth + 1, named) for _ in range(choices.byte() % 4)]
        case 12:
            name = f"E{len(named)}"
            named.append(name)
            symbols = [choices.one_of(["A", "B", "A'b", "__x", "C"]) for _ in range(choices.byte() % 3)]
            return choices.one_of(
                [
                    {"type": "enum", "name": name, "symbols": symbols},
                    {"type": "fixed", "name": name, "size": choices.byte() - 2},
                ]
            )
        case 13:
            return choices.one_of([*named, {"type": choices.one_of(_PRIMITIVES)}, {"type": "x"}, 7, None])
        case _:
            return _PRIMITIVES[kind]


def recorded() -> list[dict[str, Any]]:
    """A few records of each recording."""
    found = []
    for recording in RECORDINGS:
        found += map(orjson.loads, recording.path.read_bytes().splitlines()[:4])
    return found


def _values() -> Iterable[bytes]:
    for value in _records():
        yield b"\x00" + _ENCODER.encode(value)
        yield b"\x00" + orjson.dumps(value)
    guid = b"\x01" + bytes(16)
    yield from (b"\x00" + guid, b"\xff\x11" + guid + b"{}", b"\xff\x05" + b"\x00" * 5 + b"{}", b"\x00 {}")


def _avro_values() -> Iterable[bytes]:
    return (_ENCODER.encode(value)[5:] for value in _records())


def _records() -> list[dict[str, Any]]:
    schema = _SCHEMA.definition
    return [fullest(schema), smallest(schema), *(r for r in recorded() if "session_id" in r)][:60]


def _made() -> Iterable[FunctionType]:
    return [made for made in _READ.__globals__.values() if isinstance(made, FunctionType)]


WIRE = Target("wire", attack_value, _values, ("__value_schema_id", "session_id", "\\ud800", "1e999"))
AVRO = Target("avro", attack_avro, _avro_values, made=_made)
SCHEMAS = Target("schemas", attack_schema, lambda: [bytes(range(255)), bytes(64), b"\x00\x01" * 50])
