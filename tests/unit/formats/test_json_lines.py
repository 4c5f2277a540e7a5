"""JSON lines: what counts as a record, and what a record is when it is none."""

from io import BufferedReader, BytesIO

import pytest

from streams.core.entry import Entry
from streams.formats import jsonl
from streams.formats.adapters.adapter import Problem
from streams.formats.units import InputReader


def read(data: bytes) -> list[Entry]:
    stream = BufferedReader(BytesIO(data))  # type: ignore[arg-type]
    found = InputReader(jsonl.FORMAT, "a.jsonl").read(stream)
    return [each for each in found if not isinstance(each, Problem)]


def test_each_line_is_one_record_with_its_session_as_key() -> None:
    first, second = read(b'{"session_id":"s1"}\n{"session_id":"s2"}')
    assert (first.key, first.value, first.timestamp) == ("s1", {"session_id": "s1"}, None)
    assert second.key == "s2"


def test_blank_lines_are_not_records() -> None:
    assert [entry.key for entry in read(b'\n {"session_id":"s1"}\r\n \t\r\n')] == ["s1"]


def test_a_byte_order_mark_before_the_first_line_is_ignored() -> None:
    assert [entry.key for entry in read(b'\xef\xbb\xbf{"session_id":"s1"}\n')] == ["s1"]


@pytest.mark.parametrize(
    "line", [b"not json", b"[1]", b"null", b'"text"', b'{"a":NaN}', b'{"a":1}{"b":2}', b'{"a":"\xff"}', b"{"]
)
def test_a_line_that_is_not_one_json_object_is_undecodable_and_keeps_its_bytes(line: bytes) -> None:
    [entry] = read(line + b"\n")
    assert (entry.value, entry.problem, entry.raw, entry.key) == (None, "undecodable", line, None)


@pytest.mark.parametrize("value", [b"{}", b'{"session_id":null}', b'{"session_id":7}'])
def test_a_record_without_a_session_has_no_key(value: bytes) -> None:
    [entry] = read(value)
    assert entry.key is None
    assert entry.value is not None
