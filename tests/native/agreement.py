"""What the native core must agree on with Python: every value that has a twin, of any input.

Each function compares one input and returns how many values the native core left to Python.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any

import eddy_native as core

from schemas.avro_bytes import MalformedError
from schemas.avro_reader import compile_reader
from schemas.avro_writer import RecordWriter, compile_writer
from schemas.bundled import latest
from schemas.native_avro import reading_plan, writing_plan
from streams.core.domain import validation
from streams.core.domain.decision import Decision
from streams.core.domain.native_decision import NativeDecision, NativeMarks
from streams.core.domain.text.marks import Marks

DERIVED = (
    *("result_text", "canonical_input", "loose_input", "result", "result_digest", "call", "call_digest"),
    *("signature", "step_marks", "spoken_marks", "spoken_words", "added"),
)


def on_decision(known: dict[str, Any]) -> int:
    """A decision derives the same, whichever of its values is asked for first."""
    python = Decision.of(0, 0, known)
    left = not core.read_texts({}, python.action, python.intent)
    first = hash(python.result_text or "") % len(DERIVED)
    native = NativeDecision.of(0, 0, known)
    for name in (*DERIVED[first:], *DERIVED[:first]):
        wanted, found = getattr(python, name), getattr(native, name)
        assert found == wanted, name
        assert isinstance(found, str) == isinstance(wanted, str), name
    for most in (0, 2, 256):
        assert native.speaks_more_than(most) == python.speaks_more_than(most)
    for some in (python.step_marks, python.step_marks[:7], "\ud800bcde"):
        assert [*native.spoken_among(some)] == [*python.spoken_among(some)]
    return left


def on_sets(one: str, other: str) -> int:
    """Two texts, taken as sets of marks, are alike by the same number."""
    wanted = Marks(one).jaccard(Marks(other))
    found = NativeMarks(one).jaccard(Marks(other))
    assert repr(found) == repr(wanted)
    return core.shared(one, other) is None


def on_validity(value: dict[str, Any]) -> int:
    """A record is valid for both or for neither, and the same of it is forwarded, in the same order."""
    given = deepcopy(value)
    wanted, found = validation.known_fields(value), core.known_fields(value)
    assert repr(value) == repr(given)
    if found is not None:
        assert repr(found) == repr(wanted)
        assert wanted is not None
        for name, part in found.items():
            assert (part is value[name]) == (wanted[name] is value[name]), name
    return found is None


@cache
def _reader() -> tuple[Any, Any]:
    schema = latest("decision-logs-value").parsed
    return compile_reader(schema, schema), core.AvroReader(reading_plan(schema, schema))


def on_data(data: bytes) -> int:
    """Bytes are read as the same record, and what Python refuses the native core leaves to it."""
    python, native = _reader()
    found = native(data, 0)
    try:
        wanted, end = python(data, 0)
    except (MalformedError, IndexError, struct.error, UnicodeDecodeError):
        wanted, end = None, -1
    if found is not None:
        assert end == len(data)
        assert repr(found) == repr(wanted)
    return found is None


@cache
def _writers(subject: str) -> tuple[RecordWriter, Any]:
    definition = latest(subject).definition
    return compile_writer(definition), core.AvroWriter(writing_plan(definition), b"")


def on_output(subject: str, record: Mapping[str, Any]) -> int:
    """A record is written with the same bytes; what Python refuses the native core leaves to it."""
    python, native = _writers(subject)
    found = native(record)
    if found is not None:
        assert found == python(record)
    return found is None
