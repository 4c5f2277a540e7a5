"""What a window says, against the words of the requirement taken one by one."""

from collections import Counter
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.metrics.detector import figures_of

WINDOWS = st.integers(1, 4).flatmap(
    lambda different: st.text(st.sampled_from("ABCD"[:different]), min_size=1, max_size=40)
)


@given(WINDOWS)
def test_entropy_is_that_of_the_shares(order: str) -> None:
    shares = [count / len(order) for count in Counter(order).values()]
    bits = -sum(share * log2(share) for share in shares)
    figures = figures_of(order, 3)
    assert figures.shannon_bits == pytest.approx(bits, abs=0.00006)
    assert figures.shannon_normalised == pytest.approx(
        bits / log2(len(order)) if len(order) > 1 else 1.0, abs=6e-5
    )


@given(WINDOWS)
def test_the_period_is_the_shortest_that_repeats_at_the_end(order: str) -> None:
    expected: tuple[int | None, int | None] = (None, None)
    for period in (5, 4, 3, 2, 1):
        repeats = 1
        while order.endswith(order[-period:] * (repeats + 1)):
            repeats += 1
        if repeats >= 2:
            expected = period, repeats
    figures = figures_of(order, 3)
    assert (figures.period, figures.period_repeats) == expected


@given(WINDOWS, st.integers(2, 10))
def test_the_top_count_is_that_of_the_most_frequent_ngram(order: str, n: int) -> None:
    grams = [order[at : at + n] for at in range(len(order) - n + 1)]
    assert figures_of(order, n).top_count == max((grams.count(gram) for gram in grams), default=0)


@given(WINDOWS)
def test_the_run_is_what_the_end_has_in_common(order: str) -> None:
    run = figures_of(order, 3).run
    assert set(order[-run:]) == {order[-1]}
    assert order[: len(order) - run][-1:] != order[-1]


@pytest.mark.parametrize("repeats", [100, 400])
def test_a_long_window_is_no_different(repeats: int) -> None:
    figures = figures_of("AB" * repeats, 3)
    assert (figures.period, figures.period_repeats, figures.shannon_bits) == (2, repeats, 1.0)
    assert figures.top_count == repeats - 1
