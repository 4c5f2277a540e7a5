from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.shared_window import NOTHING, append, as_letters, counts, item_of

ITEMS = st.sampled_from(["a", "b", "c", "", "another name", None])


@given(st.lists(st.tuples(ITEMS, st.integers(1, 6)), max_size=40))
def test_it_is_the_list_of_the_newest_items_each_stored_once(appended: list[tuple[str | None, int]]) -> None:
    items, order = [], ""
    plain: list[str | None] = []
    for item, size in appended:
        before = deepcopy((items, order))
        given_ = (items, order)
        items, order = append(items, order, item, size)
        assert given_ == before
        plain = [*plain, item][-size:]
        assert [item_of(items, place) for place in order] == plain
        stored = [each for each in items if each is not None]
        assert len(stored) == len(set(stored))
        assert all(each in plain for each in stored)
        assert len(items) <= max(size for _, size in appended)


@given(st.text("AB[É.", max_size=30))
def test_items_are_counted_in_the_order_of_first_occurrence(order: str) -> None:
    wanted = {place: order.count(place) for place in order if place != NOTHING}
    assert list(counts(order).items()) == list(wanted.items())


@given(st.lists(st.integers(-1, 999), max_size=30))
def test_the_numbers_of_an_earlier_version_become_letters_of_the_same_items(numbers: list[int]) -> None:
    items = [*range(1_000)]
    letters = as_letters(numbers)
    assert [item_of(items, place) for place in letters] == [None if at < 0 else at for at in numbers]
