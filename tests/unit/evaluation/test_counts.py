"""Precision, recall and F1 of hand-counted sets."""

from streams.evaluation.counts import Counts, counts_of, total


def test_positions_are_compared_one_by_one() -> None:
    assert counts_of(frozenset({1, 2, 4}), frozenset({2, 3, 4, 9})) == Counts(hits=2, false=1, missed=2)


def test_the_three_figures() -> None:
    counts = Counts(hits=6, false=2, missed=4)
    assert counts.precision == 0.75
    assert counts.recall == 0.6
    assert counts.f1 == 12 / 18


def test_a_figure_of_nothing_is_no_figure_and_not_zero() -> None:
    nothing = Counts()
    assert (nothing.precision, nothing.recall, nothing.f1) == (None, None, None)
    silent = Counts(missed=3)
    assert (silent.precision, silent.recall, silent.f1) == (None, 0.0, 0.0)


def test_counts_add_up_by_column() -> None:
    assert total([Counts(1, 2, 3), Counts(10, 20, 30)]) == Counts(11, 22, 33)
    assert total([]) == Counts()
