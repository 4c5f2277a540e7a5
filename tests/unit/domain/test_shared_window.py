from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from streams.domain.shared_window import NOTHING, append, counts

ITEMS = st.sampled_from([["a", None], ["b", "1"], ["b", ""], ["c", None], None])


@given(st.lists(st.tuples(ITEMS, st.integers(1, 6)), max_size=40))
def test_it_is_the_list_of_the_newest_items_each_stored_once(
    appended: list[tuple[list[str | None] | None, int]],
) -> None:
    items, order = [], []
    plain: list[list[str | None] | None] = []
    for item, size in appended:
        before = deepcopy((items, order))
        given_ = (items, order)
        items, order = append(items, order, item, size)
        assert given_ == before
        plain = [*plain, item][-size:]
        assert [None if index == NOTHING else items[index] for index in order] == plain
        stored = [each for each in items if each is not None]
        assert len(stored) == len({tuple(each) for each in stored})
        assert all(each in plain for each in stored)
        assert len(items) <= max(size for _, size in appended)


@given(st.lists(st.integers(NOTHING, 4), max_size=30))
def test_items_are_counted_in_the_order_of_first_occurrence(order: list[int]) -> None:
    wanted = {index: order.count(index) for index in order if index != NOTHING}
    assert list(counts(order).items()) == list(wanted.items())
