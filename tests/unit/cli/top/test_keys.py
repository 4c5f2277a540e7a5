"""What bytes of a terminal mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.cli.top.keys import Key, keys


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (b"\x1b[A", [Key.UP]),
        (b"\x1bOA", [Key.UP]),
        (b"jk", [Key.DOWN, Key.UP]),
        (b"\x1b[5~\x1b[6~", [Key.PAGE_UP, Key.PAGE_DOWN]),
        (b"\x1b[H\x1bOF\x1b[1~\x1b[4~", [Key.FIRST, Key.LAST, Key.FIRST, Key.LAST]),
        (b"\r\n", [Key.OPEN, Key.OPEN]),
        (b"\x1b", [Key.BACK]),
        (b"q", [Key.QUIT]),
        # With modifiers, functions, answers of the terminal: no key of ours, and no part of them is one.
        (b"\x1b[1;5A\x1b[15~\x1b[?62;c\xc3\xa4x", []),
    ],
)
def test_a_sequence_is_one_key(typed: bytes, found: list[Key]) -> None:
    assert list(keys(typed)) == found


@given(st.binary())
def test_any_bytes_are_read_to_their_end(typed: bytes) -> None:
    assert len(list(keys(typed))) <= len(typed)
