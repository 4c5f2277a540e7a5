"""What other settings change, counted by hand."""

import pytest

from streams.core.evaluation.alarms import EVIDENCE
from streams.core.evaluation.difference import ScoreDifference, differences
from streams.core.evaluation.estimate import Interval
from streams.core.evaluation.evaluation import Evaluated
from streams.core.evaluation.labels import SessionLabel, StuckLabel, source_of
from streams.core.evaluation.watch import DetectorWatch


def session(
    name: str,
    marked: set[int] | None,
    raised: set[int],
    *,
    stuck: StuckLabel | None = None,
    solved: bool = False,
) -> Evaluated:
    watch = DetectorWatch()
    watch.records = 10
    watch.raised["baseline"] = {"rule": raised}
    repetitions = None if marked is None else frozenset(marked)
    return Evaluated(SessionLabel(name, source_of(name), repetitions, 0, stuck, solved), watch)


def compared(ours: list[Evaluated], theirs: list[Evaluated]) -> ScoreDifference:
    (found,) = differences(ours, theirs, ["baseline"], lambda source: source == "free")
    return found


def test_figures_are_those_of_the_first_less_those_of_the_second() -> None:
    ours = [session("s::1", {1, 2}, {1, 2}), session("s::2", {5}, {5}), session("free::1", None, set())]
    theirs = [session("free::1", None, {3}), session("s::2", {5}, {5, 6}), session("s::1", {1, 2}, {1})]
    found = compared(ours, theirs)
    # 3 of 3 raised are labelled, for 2 of 3; 3 of 3 labelled are raised, for 2 of 3.
    assert found.precision.value == found.recall.value == found.f1.value == pytest.approx(1 / 3)
    assert found.sessions_f1.value == 0.0
    assert found.healthy == (0, 1)


def test_the_interval_is_of_the_same_resamples_on_both_sides() -> None:
    ours = [session(f"s::{at}", {1}, {1}) for at in range(10)]
    theirs = [session(f"s::{at}", {1}, set() if at % 2 else {1}) for at in range(10)]
    alike = compared(theirs, theirs)
    assert alike.f1.interval == Interval(0.0, 0.0)
    recall = compared(ours, theirs).recall
    assert recall.value == 0.5
    assert recall.interval is not None
    assert 0.1 < recall.interval.low < 0.5 < recall.interval.high < 0.9


def test_what_is_not_defined_on_one_side_has_no_change() -> None:
    found = compared([session("s::1", {1}, set())], [session("s::1", {1}, {1})])
    assert (found.precision.value, found.precision.interval) == (None, None)
    assert found.recall.value == -1.0


def test_stuck_sessions_are_compared_pair_by_pair() -> None:
    since_4, free = StuckLabel(True, 4), StuckLabel(False)
    ours = [
        session("s::1", None, {5}, stuck=since_4),
        session("s::2", None, {7}, stuck=since_4),
        session("s::3", None, {1}, stuck=free),
    ]
    theirs = [
        session("s::1", None, {9}, stuck=since_4),
        session("s::2", None, set(), stuck=since_4),
        session("s::3", None, set(), stuck=free),
    ]
    change = compared(ours, theirs).stuck
    assert change is not None
    assert (change.found.value, change.false.value) == (0.5, 1.0)
    assert change.precision.value == pytest.approx(2 / 3 - 1)
    # The waits are 1 and 3, for 5 and none; 4 and 2 of twelve records come after the alarm, for none.
    assert change.median_delay.value == 2 - 5
    assert change.spared.value == pytest.approx(6 / 12)


def test_what_is_said_later_has_no_stuck_sessions() -> None:
    sides = [session("s::1", {1}, set())]
    (found,) = differences(sides, sides, [EVIDENCE], lambda _: False)
    assert found.stuck is None


def test_alarms_of_solved_sessions_are_counted_on_both_sides() -> None:
    ours = [session("s::1", None, {1}, solved=True), session("s::2", None, {1})]
    theirs = [session("s::1", None, set(), solved=True), session("s::2", None, {1})]
    assert compared(ours, theirs).solved == (1, 0)


def test_other_sessions_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="different sessions"):
        compared([session("s::1", {1}, set())], [session("s::2", {1}, set())])
