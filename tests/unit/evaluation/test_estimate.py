"""Figures with their intervals."""

from streams.evaluation.estimate import Estimate, Sides, bootstrapped, difference
from streams.evaluation.intervals import resamples


def mean(values: object) -> float | None:
    assert isinstance(values, list | tuple)
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def test_the_same_sessions_give_the_same_interval() -> None:
    sessions = [1, 5, 9, 2]
    assert bootstrapped(sessions, mean, resamples(4)) == bootstrapped(sessions, mean, resamples(4))


def test_draws_without_a_figure_are_left_out() -> None:
    assert bootstrapped([None, 4], mean, [(0, 0), (0, 1), (1, 1)]) == Estimate(4, (4.0, 4.0))


def test_of_nothing_there_is_no_figure() -> None:
    assert bootstrapped([], mean, []) == Estimate(None, None)


def test_a_change_that_is_the_same_in_every_session_is_certain() -> None:
    ours, theirs = [3, 8, 20], [2, 7, 19]
    assert difference(Sides(ours, theirs), sum, resamples(3)) == Estimate(3, (3.0, 3.0))


def test_a_change_from_nothing_is_no_figure() -> None:
    assert difference(Sides([3], [None]), mean, [(0,)]) == Estimate(None, None)
