"""Precision, recall and F1 of hand-counted sets, and what each rule brings."""

from streams.core.evaluation.estimate import Interval, percentiles, resamples
from streams.core.evaluation.scores import Counts, RuleContribution, contributions, counts_of, redrawn, total


def test_positions_are_compared_one_by_one() -> None:
    assert counts_of(frozenset({1, 2, 4}), frozenset({2, 3, 4, 9})) == Counts(hits=2, false=1, missed=2)


def test_the_three_figures() -> None:
    counts = Counts(hits=6, false=2, missed=4)
    assert counts.precision == 0.75
    assert counts.recall == 0.6
    assert counts.f1 == 12 / 18


def test_a_figure_of_nothing_is_no_figure_and_not_zero() -> None:
    nothing = Counts()
    assert (nothing.precision, nothing.recall, nothing.f1) == (None, None, None)
    silent = Counts(missed=3)
    assert (silent.precision, silent.recall, silent.f1) == (None, 0.0, 0.0)


def test_counts_add_up_by_column() -> None:
    assert total([Counts(1, 2, 3), Counts(10, 20, 30)]) == Counts(11, 22, 33)
    assert total([]) == Counts()


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


def test_rules_are_weighed_alone_and_against_the_others() -> None:
    labelled = [
        ({"R1": {2, 3}, "R7": {3, 7}}, {2, 3, 4}),
        ({"R7": {1}}, {5}),
    ]
    assert contributions(labelled, []) == (
        RuleContribution("R1", alone=Counts(2, 0, 2), only=Counts(1, 0), healthy=0),
        RuleContribution("R7", alone=Counts(1, 2, 3), only=Counts(0, 2), healthy=0),
    )


def test_healthy_sessions_are_counted_per_rule() -> None:
    healthy = [{"R1": {1, 2}}, {"R1": {4}, "R2": {4}}, {}]
    assert {each.rule: each.healthy for each in contributions([], healthy)} == {"R1": 2, "R2": 1}


def test_a_rule_that_holds_nowhere_is_not_listed() -> None:
    assert contributions([({}, {1})], [{}]) == ()
