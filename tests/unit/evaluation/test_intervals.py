"""Intervals against published and hand-computed values."""

import pytest

from streams.evaluation.counts import Counts
from streams.evaluation.intervals import DRAWS, Interval, percentiles, redrawn, resamples, wilson


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


def test_whole_sessions_are_drawn() -> None:
    sessions = [Counts(hits=10), Counts(false=10)]
    assert redrawn(sessions, [(0, 0), (0, 1), (1, 1)]) == (
        Counts(hits=20),
        Counts(hits=10, false=10),
        Counts(false=20),
    )


def test_sessions_that_differ_make_the_interval_wide_however_many_records_they_have() -> None:
    sessions = [Counts(hits=1000), Counts(false=1000)]
    totals = redrawn(sessions, resamples(2))
    assert percentiles(each.precision for each in totals) == Interval(0.0, 1.0)


def test_percentiles_cut_off_two_and_a_half_of_a_hundred_on_each_side() -> None:
    interval = percentiles(float(value) for value in range(1001))
    assert interval == pytest.approx((25.0, 975.0))


def test_percentiles_leave_out_what_is_not_defined() -> None:
    assert percentiles([None, 0.5, None]) == Interval(0.5, 0.5)
    assert percentiles([None]) is None
