"""Alarms of sessions, in sessions and in alarms."""

import pytest

from streams.evaluation.alarm_rate import alarm_rate


def test_records_in_a_row_hold_up_one_alarm() -> None:
    rate = alarm_rate([frozenset({0, 1, 2, 5, 7, 8}), frozenset(), frozenset({4})])
    assert (rate.sessions, rate.alarmed, rate.alarms) == (3, 2, 4)
    assert rate.alarmed_share == 2 / 3
    assert rate.alarms_per_session == 4 / 3


def test_no_alarm_in_twenty_sessions_does_not_prove_that_there_is_none() -> None:
    interval = alarm_rate([frozenset()] * 20).interval
    assert interval is not None
    assert interval == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_no_sessions_no_rate() -> None:
    rate = alarm_rate([])
    assert (rate.alarmed_share, rate.interval, rate.alarms_per_session) == (None, None, None)
