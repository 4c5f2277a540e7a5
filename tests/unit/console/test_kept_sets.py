"""Sets of offsets and points: what is kept is the newest, in whatever order it came."""

from hypothesis import given
from hypothesis import strategies as st

from streams.console.read_model.offsets import Places
from streams.console.read_model.points import MOST, Points

PLACES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 400) | st.integers(0, 2**40)), max_size=700)


@given(PLACES, st.integers(1, 50))
def test_places_are_the_newest_of_each_partition(places: list[tuple[int, int]], limit: int) -> None:
    kept = Places(limit)
    for each in places:
        kept.add(*each)
    expected = [
        (partition, offset)
        for partition in range(3)
        for offset in sorted({offset for at, offset in places if at == partition})[-limit:]
    ]
    assert list(kept) == expected
    assert len(kept) == len(expected)
    if expected:
        assert kept.last == expected[-1]
        assert kept.first_offset == min(offset for at, offset in expected if at == expected[-1][0])


@given(PLACES, st.integers(0, 700), st.integers(1, 50))
def test_places_that_were_stored_in_between_are_the_same(
    places: list[tuple[int, int]], cut: int, limit: int
) -> None:
    whole, kept = Places(limit), Places(limit)
    for number, each in enumerate(places):
        if number == cut:
            kept = Places.of(kept.stored(), limit)
        whole.add(*each)
        kept.add(*each)
    assert kept.stored() == whole.stored()


def test_a_place_takes_one_or_two_bytes() -> None:
    places = Places(4_096)
    for offset in range(0, 4_096 * 30, 30):
        places.add(3, 10**9 + offset)
    assert len(places.stored()) < 4_096 + 20


@given(st.lists(st.integers(0, 300), max_size=400), st.integers(0, 400))
def test_points_are_the_newest_and_the_same_after_a_restart(offsets: list[int], cut: int) -> None:
    points = Points()
    for number, offset in enumerate(offsets):
        if number == cut:
            points = Points(points.stored())
        points.add(offset, 1_000 * offset, 1_000 * offset - 7, offset / 2)
    newest = sorted(set(offsets))[-MOST:]
    assert len(points) == len(newest)
    assert points.after(100_000) == sum(1_000 * offset - 7 > 100_000 for offset in newest)
    assert points.spent(300_000) == sum(offset / 2 for offset in newest if offset > 0)
    assert sum(points.chart(300_000)) <= points.spent(300_000) + 150
