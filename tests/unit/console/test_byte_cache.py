"""The cache of records: bounded by their bytes, and what was used last stays."""

from hypothesis import given
from hypothesis import strategies as st

from streams.console.timeline import ByteCache

LIMIT = 100


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 130), st.booleans())))
def test_it_never_holds_more_than_it_may_and_counts_right(steps: list[tuple[int, int, bool]]) -> None:
    cache: ByteCache[int, bytes] = ByteCache(LIMIT, len)
    newest: dict[int, bytes] = {}
    for key, size, reads in steps:
        if reads:
            assert cache.get(key) in {None, newest.get(key)}
        else:
            newest[key] = bytes(size)
            cache.put(key, newest[key])
        held = [value for each in range(10) if (value := cache.get(each)) is not None]
        assert cache.size == sum(map(len, held)) <= LIMIT
        assert len(cache) == len(held)


def test_what_was_used_last_stays() -> None:
    cache: ByteCache[str, bytes] = ByteCache(LIMIT, len)
    for name in "abcd":
        cache.put(name, bytes(25))
    cache.get("a")
    cache.put("e", bytes(25))
    assert [name for name in "abcde" if cache.get(name) is not None] == ["a", "c", "d", "e"]


def test_a_value_larger_than_the_limit_drives_nothing_out() -> None:
    cache: ByteCache[str, bytes] = ByteCache(LIMIT, len)
    cache.put("a", bytes(50))
    cache.put("b", bytes(LIMIT + 1))
    assert (cache.get("a"), cache.get("b")) == (bytes(50), None)
