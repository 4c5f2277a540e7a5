"""Figures with their intervals, against published and hand-computed values."""

import pytest

from streams.core.evaluation.estimate import (
    DRAWS,
    Estimate,
    Interval,
    Sides,
    bootstrapped,
    difference,
    percentiles,
    resamples,
    wilson,
)


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [
        # Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17
        # (1998), table I, method 3 (score without continuity correction).
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1.0),
    ],
)
def test_wilson_gives_the_published_values(part: int, whole: int, low: float, high: float) -> None:
    interval = wilson(part, whole)
    assert interval is not None
    assert interval == pytest.approx((low, high), abs=5e-5)


def test_wilson_of_no_trials_is_nothing() -> None:
    assert wilson(0, 0) is None


def test_resamples_are_the_same_every_time_and_of_the_same_size() -> None:
    drawn = resamples(5)
    assert drawn == resamples(5)
    assert drawn != resamples(5, seed=1)
    assert len(drawn) == DRAWS
    assert {len(numbers) for numbers in drawn} == {5}
    assert {number for numbers in drawn for number in numbers} == set(range(5))


def test_there_is_nothing_to_draw_from_no_sessions() -> None:
    assert resamples(0) == ()


def test_percentiles_cut_off_two_and_a_half_of_a_hundred_on_each_side() -> None:
    interval = percentiles(float(value) for value in range(1001))
    assert interval == pytest.approx((25.0, 975.0))


def test_percentiles_leave_out_what_is_not_defined() -> None:
    assert percentiles([None, 0.5, None]) == Interval(0.5, 0.5)
    assert percentiles([None]) is None


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
