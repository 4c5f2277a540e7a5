"""What comes between the onset of a loop and the first alarm, what comes after, and was stopping right."""

import pytest

from streams.core.evaluation.estimate import Estimate, resamples
from streams.core.evaluation.first_alarm import (
    AlarmWait,
    Delay,
    delay,
    right_to_stop,
    spared,
    spared_share,
    wait,
)

NOTHING = Estimate(None, None)


def ten_each(first: int, last: int) -> float:
    return 10.0 * (last - first)


def summary(*waits: int | None) -> Delay:
    """The delay of sessions without times."""
    return delay([None if each is None else AlarmWait(each) for each in waits], resamples(len(waits)))


def values(found: Delay) -> tuple[float | None, float | None, float | None]:
    return found.lower.value, found.median.value, found.upper.value


def test_the_first_alarm_at_or_after_the_onset_counts() -> None:
    found = [wait({3}, 3, ten_each), wait({2, 9, 10}, 5, ten_each), wait({8}, 7, ten_each)]
    assert found == [AlarmWait(0, 0.0), AlarmWait(4, 40.0), AlarmWait(1, 10.0)]


def test_an_alarm_that_came_before_is_no_notice() -> None:
    assert wait({1, 2}, 5, ten_each) is None


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
    assert summary(None) == Delay(0, 1, NOTHING, NOTHING, NOTHING, 0, NOTHING, NOTHING)
    assert summary() == Delay(0, 0, NOTHING, NOTHING, NOTHING, 0, NOTHING, NOTHING)


def test_seconds_are_of_the_sessions_that_have_times() -> None:
    waits = [*(AlarmWait(1, float(seconds)) for seconds in range(0, 101, 10)), AlarmWait(7), None]
    found = delay(waits, resamples(len(waits)))
    assert (found.noticed, found.timed) == (12, 11)
    assert (found.median_seconds.value, found.most_seconds.value) == (50, 90)


def test_without_times_the_seconds_are_unknown_and_not_zero() -> None:
    found = summary(0, 2)
    assert (found.median.value, found.timed) == (1, 0)
    assert found.median_seconds == found.most_seconds == NOTHING


def test_what_the_record_of_the_alarm_used_is_not_spared() -> None:
    assert spared({0: 100, 3: 40, 5: 60}, 3) == (200, 60)
    assert spared({0: 100}, None) == (100, 0)


def test_without_amounts_the_share_that_is_spared_is_unknown_and_not_zero() -> None:
    assert spared_share([spared({}, 3), spared({}, None)]) is None
    assert spared_share([spared({}, 3), spared({1: 5}, None)]) == 0.0


@pytest.mark.parametrize(
    ("rewards", "alarm", "right", "no_new_best"),
    [
        ([0, 0, 0], 1, True, True),
        ([0, 0.5, 0.2], 1, True, True),
        ([0, 0.5, 0.6], 1, False, False),
        # The end is no better, but going on had reached more in between.
        ([0, 0.5, 1, 0], 1, False, False),
        # More than at the alarm, not more than before it.
        ([1, 0, 1], 1, False, True),
        # Nothing comes after the last record.
        ([0, 0, 0], 2, True, True),
        # What is not known is left out.
        ([None, 0.5, None, 0.5], 1, True, True),
        ([0, 0, None, 1], 1, False, False),
    ],
)
def test_it_is_right_to_stop_if_no_later_reward_is_higher(
    rewards: list[float | None], alarm: int, right: bool, no_new_best: bool
) -> None:
    found = right_to_stop([(rewards, alarm)])
    assert (found.right, found.wrong, found.unknown) == (right, not right, 0)
    assert (found.share.value, found.no_new_best.value) == (right, no_new_best)


@pytest.mark.parametrize("rewards", [[0, None, 1], [1, 0, None, None]])
def test_rewards_that_do_not_tell_are_counted_apart(rewards: list[float | None]) -> None:
    found = right_to_stop([(rewards, 1)])
    assert found == (0, 0, 1, NOTHING, NOTHING)


def test_the_share_that_was_right_has_wilsons_interval() -> None:
    # 29 of 29, as Newcombe has it.
    share = right_to_stop([([0, 0], 0)] * 29 + [([None, 0], 0)]).share
    assert share.value == 1.0
    assert share.interval == pytest.approx((0.8830, 1.0), abs=5e-5)
