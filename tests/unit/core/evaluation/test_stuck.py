"""Stuck sessions, counted by hand."""

import pytest

from streams.core.evaluation.labels import StuckLabel
from streams.core.evaluation.scores import Counts
from streams.core.evaluation.stuck import StuckReport, StuckScores, StuckSessions, seen
from streams.core.evaluation.watch import DetectorWatch

RECORDS = 10


def told(label: StuckLabel, *raised: int) -> StuckReport:
    """A session of ten records, raised on some of them."""
    watch = DetectorWatch()
    watch.records = RECORDS
    watch.raised["repeat"] = {"A2": set(raised)}
    return StuckReport(label, watch)


def stuck(onset: int, *raised: int, read: int | None = None) -> StuckReport:
    return told(StuckLabel(True, onset, read=read), *raised)


def free(*raised: int, read: int | None = None) -> StuckReport:
    return told(StuckLabel(False, read=read), *raised)


def scores(*sessions: StuckReport) -> StuckScores:
    return StuckSessions(sessions).scores(lambda watch: watch.positions("repeat"))


def test_found_false_and_precision_are_of_sessions() -> None:
    found = scores(
        stuck(4, 6, 7), stuck(2, 2), stuck(3), free(), free(5), free(), free(), told(StuckLabel(None), 1)
    )
    assert found.counts == Counts(hits=2, false=1, missed=1)
    assert (found.found.value, found.false.value, found.precision.value) == (2 / 3, 1 / 4, 2 / 3)
    # Wilson's interval of 2 of 3.
    assert found.found.interval == pytest.approx((0.2077, 0.9385), abs=5e-5)


def test_an_alarm_before_the_onset_is_early_and_finds_nothing() -> None:
    found = scores(stuck(4, 2), stuck(4, 2, 5), stuck(4, 5))
    assert found.early == 2
    assert found.counts == Counts(hits=2, missed=1)
    assert (found.delay.noticed, found.delay.median.value) == (2, 1)


def test_what_comes_after_the_alarm_could_have_been_spared() -> None:
    # Stuck from 4 to 9: after 6 there are three of six; nothing of the other six.
    assert scores(stuck(4, 6), stuck(4)).spared.value == 3 / 12


def test_records_that_the_readers_have_not_seen_do_not_count() -> None:
    assert scores(stuck(2, 7, read=6), free(7, read=6)).counts == Counts(missed=1)
    assert scores(stuck(2, 3, read=6)).spared.value == 2 / 4


def test_disputed_sessions_are_counted_and_left_out() -> None:
    sessions = StuckSessions([stuck(1), free(), told(StuckLabel(None))])
    assert (len(sessions.stuck), len(sessions.free), sessions.disputed) == (1, 1, 1)


def test_without_labels_there_are_no_figures() -> None:
    found = scores()
    assert found.counts == Counts()
    assert {found.found.value, found.false.value, found.precision.value, found.spared.value} == {None}


def test_only_a_stuck_session_has_a_delay() -> None:
    with pytest.raises(ValueError, match="only a stuck session"):
        seen(free(), lambda watch: watch.positions("repeat"))
