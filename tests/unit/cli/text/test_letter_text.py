"""A dead letter in words: whatever is in it, a terminal shows it and obeys nothing."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.codec import Codec, UndecodableError
from streams.cli.text.letter_text import Listing, counts, fields, line, lines, whole
from streams.core.detectors.settings import DEFAULTS
from streams.operate.redrive.letter import read
from streams.operate.redrive.redrive import Trial
from streams.worker.dead_letter import LetterSource, rejected_headers
from tests.unit.operate.redrive.test_letter import Stored

TRIAL = Trial(Codec.bundled(), DEFAULTS)
HEADERS = rejected_headers(
    LetterSource("decision-logs", 3, 17),
    ["action.status"],
    "action.status: wrong",
    group="eddy",
    version="0.1.0",
)


def letter(**stored):
    return read(Stored(**{"headers": HEADERS, **stored}))


def test_a_line_tells_where_why_and_where_from():
    assert line(letter()) == (
        "1:9  2025-10-09 08:53:20Z  schema_violation  action.status  key s-1  from decision-logs 3:17"
    )
    assert (
        line(read(Stored(key=None)), "LEFT: why")
        == "1:9  2025-10-09 08:53:20Z  no reason  key none  LEFT: why"
    )


@given(
    key=st.one_of(st.none(), st.binary(max_size=20)),
    value=st.one_of(st.none(), st.binary(max_size=2_000), st.text(max_size=500).map(str.encode)),
    name=st.text(max_size=20),
    content=st.one_of(st.none(), st.binary(max_size=40)),
    timestamp=st.integers(-(2**63), 2**63 - 1),
    reason=st.text(max_size=20),
    at_end=st.booleans(),
)
def test_nothing_in_a_letter_reaches_a_terminal_as_it_is(
    key, value, name, content, timestamp, reason, at_end
):
    own = [(name, content)]
    theirs = [*HEADERS, ("x-dlq-reason", reason.encode()), (name, content)]
    found = letter(key=key, value=value, timestamp=timestamp, headers=theirs if at_end else [*own, *HEADERS])
    try:
        decoded = TRIAL.decode(found)
    except UndecodableError:
        decoded = None
    for text in (line(found), *lines(found, decoded, reason)):
        assert text.isprintable()
    for document in (fields(found), whole(found, decoded, reason)):
        written = json.dumps(document, default=str)
        assert written.isascii()
        assert written.isprintable()
        assert json.loads(written)["offset"] == 9


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b'{"a": "\\u001b[2J"}', '      "a": "\\u001b[2J"'),
        (b"plain\nwords \x1b[2J", "    words \\x1b[2J"),
        (b"\x00\xff", "    00000000  00 ff                                            .."),
    ],
)
def test_a_value_is_decoded_or_text_or_hex(value, shown):
    found = letter(value=value)
    decoded = json.loads(value) if value.startswith(b"{") else None
    assert shown in list(lines(found, decoded, None))


def test_a_long_value_is_cut_and_says_how_to_get_all_of_it():
    for value in (b"\xff" * 5_000, b"line\n" * 5_000):
        texts = list(lines(letter(value=value), None, None))
        assert len(texts) < 450
        assert "--save" in texts[-1]


def test_the_bytes_are_there_for_machines():
    found = whole(letter(key=b"\xff", value=b"\xfe\x00"), None, "undecodable")
    assert (found["key"], found["key_hex"]) == (None, "ff")
    assert bytes.fromhex(found["value_hex"]) == b"\xfe\x00"


def test_no_letters_are_counted_too():
    assert counts(Counter()) == "0 dead letters"
    assert counts(Counter(key=1)) == "1 dead letter: key 1"


def test_a_listing_has_columns_and_each_day_once():
    listing = Listing()
    letters = [letter(), letter(timestamp=1_760_000_001_000), letter(timestamp=1_760_100_000_000)]
    shown = [text for each in letters for text in listing.lines(each)]
    about = "schema_violation  action.status  key s-1  from decision-logs 3:17"
    assert shown == [
        "2025-10-09",
        f"1:9         08:53:20  {about}",
        f"1:9         08:53:21  {about}",
        "2025-10-10",
        f"1:9         12:40:00  {about}",
    ]
    assert listing.heading.startswith("place       time UTC  reason            problems")
