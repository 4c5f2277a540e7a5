"""A dead letter read back: exactly what the job wrote, whatever the message had in its headers."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.reason import Reason
from streams.operate.redrive.letter import OTHER, RecordPlace, read, redriven_headers, redrives
from streams.worker.dead_letter import LetterSource, dead_letter_headers, rejected_headers


class Stored(NamedTuple):
    partition: int = 1
    offset: int = 9
    timestamp: int = 1_760_000_000_000
    key: bytes | None = b"s-1"
    value: bytes | None = b"{}"
    headers: tuple[tuple[str, bytes | None], ...] = ()


NAMES = ["__streams.errors.exception", "__streams.errors.offset", "x-dlq-reason", "x-redrive-count", "own"]
OWN = st.lists(st.tuples(st.sampled_from(NAMES), st.none() | st.binary(max_size=8)), max_size=8)


@given(
    own=OWN, reason=st.sampled_from(Reason), problems=st.lists(st.sampled_from(["key", "a.b"]), unique=True)
)
def test_what_was_written_is_read_back(own, reason, problems):
    source = LetterSource("decision-logs", 3, 17, own)
    written = dead_letter_headers(source, reason, "said", problems, group="eddy", version="1")
    letter = read(Stored(headers=written))
    assert letter.headers == own
    assert letter.source == RecordPlace("decision-logs", 3, 17)
    assert (letter.reason, letter.counted_as) == (reason, reason)
    assert letter.problems == tuple(problems)
    assert (letter.detail, letter.group, letter.version) == ("said", "eddy", "1")
    assert letter[:5] == Stored()[:5]


@given(headers=st.lists(st.tuples(st.sampled_from(NAMES), st.one_of(st.none(), st.binary(max_size=30)))))
def test_any_record_can_be_read(headers):
    letter = read(Stored(headers=tuple(headers)))
    assert letter.counted_as in {*Reason, OTHER}
    assert letter.redrives >= 0


@pytest.mark.parametrize(
    "name", ["__streams.errors.topic", "__streams.errors.partition", "__streams.errors.offset"]
)
@pytest.mark.parametrize("content", [None, b"", b"-1", b"\xff", "\N{SUPERSCRIPT TWO}".encode()])
def test_a_letter_that_does_not_tell_its_place_has_none(name, content):
    written = dict(
        rejected_headers(LetterSource("decision-logs", 3, 17), ["key"], "wrong", group="g", version="1")
    )
    if content is None:
        del written[name]
    else:
        written[name] = content if name != "__streams.errors.topic" else b""
    assert read(Stored(headers=tuple(written.items()))).source is None


def test_a_count_goes_on_and_stands_once():
    own = [("a", b"1"), ("x-redrive-count", b"2"), ("a", None)]
    assert redriven_headers(own) == [("a", b"1"), ("a", None), ("x-redrive-count", b"3")]
    assert redrives(redriven_headers(redriven_headers([]))) == 2
    assert redrives([("x-redrive-count", b"9" * 5000)]) == 0
