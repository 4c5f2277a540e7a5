"""Which session is chosen, while the list moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.cli.top.view import Key, TopView, keys

IDS = [f"s-{number}" for number in range(10)]
FIT = 4


def after(*typed: Key, view: TopView = TopView(), ids: list[str] = IDS) -> TopView:  # noqa: B008  # frozen
    for key in typed:
        view = view.pressed(key, ids, FIT)
    return view


def test_nothing_is_chosen_before_the_first_key_and_then_the_worst() -> None:
    assert TopView().settled(IDS, FIT) == TopView()
    assert after(Key.DOWN).chosen == "s-0"
    assert after(Key.DOWN, Key.DOWN).chosen == "s-1"
    assert after(Key.DOWN, Key.BACK) == TopView()


def test_the_choice_stays_within_the_list_and_on_the_screen() -> None:
    assert after(Key.DOWN, Key.UP).chosen == "s-0"
    last = after(Key.LAST)
    assert (last.chosen, last.first) == ("s-9", 6)
    assert after(Key.DOWN, view=last) == last
    assert (after(Key.PAGE_UP, view=last).chosen, after(Key.PAGE_UP, view=last).first) == ("s-5", 5)
    assert after(Key.DOWN, Key.PAGE_DOWN).chosen == "s-4"
    assert after(Key.FIRST, view=last).first == 0


def test_a_session_stays_chosen_when_the_order_changes() -> None:
    view = after(Key.DOWN, Key.DOWN)
    moved = view.settled([*IDS[2:], "s-1"], FIT)
    assert (moved.chosen, moved.at, moved.first) == ("s-1", 8, 5)


def test_a_session_that_leaves_hands_the_choice_to_the_one_in_its_place() -> None:
    view = after(Key.DOWN, Key.DOWN)
    assert view.settled(["s-0", "s-2"], FIT).chosen == "s-2"
    assert after(Key.LAST).settled(IDS[:3], FIT).chosen == "s-2"
    assert view.settled([], FIT) == TopView()


def test_an_open_page_is_scrolled_and_stays_open_when_its_session_leaves() -> None:
    view = after(Key.OPEN)
    assert (view.chosen, view.is_open) == ("s-0", True)
    down = after(Key.DOWN, Key.PAGE_DOWN, view=view)
    assert down.first == 1 + FIT
    assert after(Key.UP, Key.FIRST, Key.UP, view=down).first == 0
    assert down.settled([], FIT) == down
    closed = after(Key.BACK, view=down)
    assert (closed.chosen, closed.is_open, closed.first) == ("s-0", False, 0)


def test_keys_on_an_empty_list_do_nothing() -> None:
    for key in Key:
        assert TopView().pressed(key, [], FIT) == TopView()


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
