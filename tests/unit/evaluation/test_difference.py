"""What other settings change, counted by hand."""

import pytest

from streams.evaluation.difference import Difference, differences
from streams.evaluation.evaluation import Evaluated
from streams.evaluation.intervals import Interval
from streams.evaluation.labels import SessionLabel, source_of
from streams.evaluation.watch import Watch


def session(name: str, marked: set[int] | None, raised: set[int]) -> Evaluated:
    watch = Watch()
    watch.raised["baseline"] = {"rule": raised}
    label = SessionLabel(name, source_of(name), None if marked is None else frozenset(marked), 0)
    return Evaluated(label, watch)


def compared(ours: list[Evaluated], theirs: list[Evaluated]) -> Difference:
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


def test_other_sessions_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="different sessions"):
        compared([session("s::1", {1}, set())], [session("s::2", {1}, set())])
