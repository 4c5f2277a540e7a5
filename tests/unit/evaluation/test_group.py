"""Alarms of sessions, in sessions and in alarms."""

import pytest

from streams.evaluation.estimate import Estimate, resamples
from streams.evaluation.group import AlarmRate, Group, alarm_rate
from streams.evaluation.watch import Watch


def rate(*sessions: set[int]) -> AlarmRate:
    return alarm_rate(sessions, resamples(len(sessions)))


def test_records_in_a_row_hold_up_one_alarm() -> None:
    found = rate({0, 1, 2, 5, 7, 8}, set(), {4})
    assert (found.sessions, found.alarmed, found.alarms) == (3, 2, 4)
    assert found.alarmed_share.value == 2 / 3
    assert found.alarms_per_session.value == 4 / 3


def test_no_alarm_in_twenty_sessions_does_not_prove_that_there_is_none() -> None:
    interval = rate(*[set()] * 20).alarmed_share.interval
    assert interval is not None
    assert interval == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_the_mean_number_of_alarms_is_drawn_from_whole_sessions() -> None:
    # A draw of two sessions has 0, 1 or 2 times the three alarms of the first.
    assert rate({0, 2, 4}, set()).alarms_per_session == Estimate(1.5, (0.0, 3.0))


def test_no_sessions_no_rate() -> None:
    nothing = Estimate(None, None)
    assert rate() == AlarmRate(0, 0, 0, nothing, nothing)


def watch(tokens: dict[int, float], *raised: int) -> Watch:
    """A session of four records."""
    found = Watch()
    found.records = 4
    found.raised["repeat"] = {"A2": set(raised)}
    found.tokens = tokens
    return found


def test_records_and_tokens_after_the_first_alarm_are_shares_of_all() -> None:
    group = Group([watch({0: 10, 1: 20, 2: 30, 3: 40}, 1, 3), watch({2: 100})])
    assert group.spared("repeat").value == 2 / 8
    assert group.tokens_spared("repeat").value == 70 / 200


def test_without_a_record_that_has_tokens_what_is_spared_is_unknown() -> None:
    group = Group([watch({}, 1), watch({})])
    assert group.spared("repeat").value == 2 / 8
    assert group.tokens_spared("repeat") == Estimate(None, None)
