"""What each rule finds alone, and what only it finds."""

from streams.evaluation.contribution import Contribution, contributions
from streams.evaluation.counts import Counts


def test_rules_are_weighed_alone_and_against_the_others() -> None:
    labelled = [
        ({"R1": {2, 3}, "R7": {3, 7}}, {2, 3, 4}),
        ({"R7": {1}}, {5}),
    ]
    assert contributions(labelled, []) == (
        Contribution("R1", alone=Counts(2, 0, 2), only=Counts(1, 0), healthy=0),
        Contribution("R7", alone=Counts(1, 2, 3), only=Counts(0, 2), healthy=0),
    )


def test_healthy_sessions_are_counted_per_rule() -> None:
    healthy = [{"R1": {1, 2}}, {"R1": {4}, "R2": {4}}, {}]
    assert {each.rule: each.healthy for each in contributions([], healthy)} == {"R1": 2, "R2": 1}


def test_a_rule_that_holds_nowhere_is_not_listed() -> None:
    assert contributions([({}, {1})], [{}]) == ()
