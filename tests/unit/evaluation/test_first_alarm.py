"""What comes between the onset of a loop and the first alarm, and what comes after it."""

from streams.evaluation.estimate import Estimate, resamples
from streams.evaluation.first_alarm import Delay, Wait, delay, wait


def summary(*waits: Wait) -> Delay:
    return delay(waits, resamples(len(waits)))


def values(found: Delay) -> tuple[float | None, float | None, float | None]:
    return found.lower.value, found.median.value, found.upper.value


def test_the_first_alarm_at_or_after_the_onset_counts() -> None:
    assert [wait({3}, 3), wait({2, 9, 10}, 5), wait({8}, 7)] == [0, 4, 1]


def test_an_alarm_that_came_before_is_no_notice() -> None:
    assert wait({1, 2}, 5) is None


def test_quartiles_are_of_those_that_were_noticed() -> None:
    found = summary(0, None, 4, 1, 2, 3)
    assert (found.noticed, found.unnoticed) == (5, 1)
    assert values(found) == (1, 2, 3)


def test_of_an_even_number_the_median_lies_between() -> None:
    assert summary(0, 5).median.value == 2.5


def test_the_interval_of_one_session_has_no_width_and_of_several_it_has() -> None:
    assert summary(3).median == Estimate(3, (3.0, 3.0))
    assert summary(1, 9).median.interval == (1.0, 9.0)


def test_where_nothing_was_noticed_there_is_no_delay() -> None:
    assert summary(None) == Delay(0, 1, *[Estimate(None, None)] * 3)
    assert summary() == Delay(0, 0, *[Estimate(None, None)] * 3)
