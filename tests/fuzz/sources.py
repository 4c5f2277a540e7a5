"""Files that people hand to the commands: JSON lines, recorded messages, trajectories, Avro containers."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

import fastavro
import orjson

from schemas.bundled import latest
from streams.core.detectors.settings import DEFAULTS
from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.core.offline import judge
from streams.formats.adapters.adapter import Format, Problem
from streams.formats.reading import message
from streams.formats.registry import FORMATS
from streams.formats.units import InputReader
from tests.checks.test_adapters import SAMPLES
from tests.fuzz.decoding import recorded
from tests.fuzz.target import Target
from tests.unit.schemas.samples import fullest


def _attack(form: Format) -> Callable[[bytes], None]:
    def attack(data: bytes) -> None:
        """Whatever a file holds: its records are judged and can be published, or its reader says what."""
        stream = io.BufferedReader(io.BytesIO(data))  # type: ignore[arg-type]
        entries: list[Entry] = []
        with suppress(ConfigurationError):  # the entries before the damage count
            for found in InputReader(form, "input").read(stream):
                assert not isinstance(found, Problem)
                entries.append(found)
        for entry in entries:
            with suppress(ConfigurationError):
                message(entry)
        for _ in judge(entries, DEFAULTS):
            pass

    return attack


def _json_lines() -> Iterable[bytes]:
    return [b"\xef\xbb\xbf" + b"\r\n".join(map(orjson.dumps, recorded()[:3])), b"[1]\n\n{}\n{"]


def _messages() -> Iterable[bytes]:
    for record in recorded()[:5]:
        yield orjson.dumps({"key": "s", "value": record, "timestamp": 5})
    yield b'{"key":null,"value":"{broken","timestamp":5}\n{"value_base64":"AAAAAAA="}\n{"value":null}'
    yield b'{"value":{"a":' + b"[" * 300 + b"]" * 300 + b"}}"


def _trajectories() -> Iterable[bytes]:
    event = {"session_id": "set::7", "agent_id": "a", "seq": 2, "intent": "x", "tool_call": "Read"}
    event |= {
        "arguments": {"file_path": "a.py"},
        "action_status": "error",
        "result": "no such file",
        "tokens": 5,
    }
    yield orjson.dumps(event)
    yield b'{"session_id":"s","agent_id":"a","arguments":' + b"[" * 300 + b"]" * 300 + b"}"
    yield b'{"session_id":"s","agent_id":"a","action_status":' + b"[" * 1020 + b"]" * 1020 + b"}"
    told = {"arguments": 'open "a.py" 10', "timestamp": "2026-04-01T17:30:01.5+02:00", "result_md5": "0f"}
    yield orjson.dumps({**event, **told, "action_status": "ok"})


def _containers() -> Iterable[bytes]:
    schema = latest("decision-logs-value").definition
    logical = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "session_id", "type": {"type": "string", "logicalType": "uuid"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "cost", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        ],
    }
    for codec in ("null", "deflate"):
        stream = io.BytesIO()
        fastavro.writer(stream, schema, [fullest(schema)] * 2, codec=codec)
        yield stream.getvalue()
    stream = io.BytesIO()
    record = {
        "session_id": UUID(int=7),
        "at": 1_700_000_000_000,
        "day": date(2026, 4, 1),
        "cost": Decimal("1.5"),
    }
    fastavro.writer(stream, logical, [record])
    yield stream.getvalue()


_EVENT = (
    "session_id",
    "arguments",
    "timestamp",
    "action_status",
    "result_md5",
    "tool_call",
    "seq",
    "0001-01-01",
)
_LOGICAL = ("logicalType", "uuid", "decimal", "timestamp-millis", "time-micros", "date", "avro.codec", "null")


class _Written(NamedTuple):
    """What is written by hand for the target of a format.

    Attributes:
        name: name of the target; other targets have the names of two formats.
        seeds: what a run begins with, beside the samples.
        words: what is worth putting into the bytes.
    """

    name: str
    seeds: Callable[[], Iterable[bytes]] = tuple
    words: tuple[str, ...] = ()


_WRITTEN = {
    "jsonl": _Written("jsonl", _json_lines),
    "messages": _Written("recorded", _messages, ("value_base64", "timestamp", '"key":null')),
    "trajectory": _Written("trajectories", _trajectories, _EVENT),
    "avro": _Written("containers", _containers, _LOGICAL),
}


def _target(form: Format) -> Target:
    written = _WRITTEN.get(form.name, _Written(form.name))

    def seeds() -> Iterator[bytes]:
        yield from written.seeds()
        yield from (path.read_bytes() for path in sorted((SAMPLES / form.name).glob("loop.*")))

    return Target(written.name, _attack(form), seeds, written.words)


FILES = tuple(_target(each) for each in FORMATS if each.own)
