"""The window of names: the newest, as letters."""

from hypothesis import given
from hypothesis import strategies as st

from streams.detectors.metrics.window import append, letter


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", "", "long name"]), st.integers(2, 6)), max_size=30))
def test_the_newest_names_can_be_read_back(appended: list[tuple[str, int]]) -> None:
    names: list[str | None] = []
    order, newest = "", []
    for name, size in appended:
        before, held = order, list(names)
        names, order = append(names, order, name, size)
        newest = [*newest, name][-size:]
        assert [names[ord(each) - ord(letter(0))] for each in order] == newest
        assert (before, held) == (before, list(held))
        assert len([each for each in names if each is not None]) == len(set(newest))


def test_what_is_given_is_not_changed() -> None:
    names, order = ["a", "b"], "AB"
    append(names, order, "c", 2)
    assert (names, order) == (["a", "b"], "AB")
