"""A hand-computed comparison of three sources."""

import pytest

from streams.evaluation.alarm_rate import AlarmRate
from streams.evaluation.counts import Counts, total
from streams.evaluation.delay import Delay
from streams.evaluation.evaluation import Evaluated, Part, Row, evaluate
from streams.evaluation.kind import Kind
from streams.evaluation.labels import SessionLabel, source_of
from streams.evaluation.watch import Watch

RECORDS = 10


def session(name: str, marked: set[int] | None, **raised: set[int]) -> Evaluated:
    """A session of ten records; ``raised`` by rule of verdict-warning."""
    watch = Watch()
    watch.records = RECORDS
    watch.raised["verdict-warning"] = raised
    # The even ones of the ten records called the same tool as the record before.
    watch.kinds = {Kind.SAME_TOOL: set(range(2, RECORDS, 2)), Kind.OTHER: set(range(1, RECORDS, 2))}
    repetitions = None if marked is None else frozenset(marked)
    transitions = 0 if marked is None else RECORDS - 1
    return Evaluated(SessionLabel(name, source_of(name), repetitions, transitions), watch)


SESSIONS = [
    session("sola::loops", {3, 4, 5, 6}, R1={4, 5}, R3={5, 6, 7}),
    session("sola::missed", {2}),
    session("sola::fine", set(), R3={9}),
    session("sola::quiet", set()),
    session("sola::unlabelled", None, R1={1}),
    session("tau::one", None),
    session("tau::two", None, R3={2, 3, 8}),
    session("wild::one", None, R1={5}),
]


def part(source: str, least: int = 1) -> Part:
    parts = evaluate(SESSIONS, ["verdict-warning"], lambda name: name == "tau", least)
    return next(part for part in parts if part.source == source)


def row(source: str) -> Row:
    return part(source).rows[0]


def test_all_sources_stand_first_then_each_by_name() -> None:
    parts = evaluate(SESSIONS, ["verdict-warning"], lambda _: False)
    assert [(part.source, part.sessions) for part in parts] == [
        ("all", 8),
        ("sola", 5),
        ("tau", 2),
        ("wild", 1),
    ]


def test_one_source_is_not_told_twice() -> None:
    assert [part.source for part in evaluate(SESSIONS[:2], ["baseline"], lambda _: False)] == ["sola"]


def test_records_are_scored_in_labelled_sessions_only() -> None:
    steps = row("all").steps.counts
    # Of 3 4 5 6 and 2 the records 4, 5 and 6 are raised, and 7 and 9 besides.
    assert steps == Counts(hits=3, false=2, missed=2)
    assert (steps.precision, steps.recall) == (0.6, 0.6)
    assert row("tau").steps.counts == Counts()


def test_sessions_are_scored_by_any_alarm_against_any_repetition() -> None:
    scores = row("all").sessions
    assert scores.counts == Counts(hits=1, false=1, missed=1)
    # One of two: Wilson's interval is the same for precision and recall.
    assert scores.precision == scores.recall
    assert scores.precision == pytest.approx((0.0945, 0.9055), abs=5e-5)


def test_a_session_may_need_more_repetitions_to_count_as_looping() -> None:
    counts = part("all", least=2).rows[0].sessions.counts
    assert counts == Counts(hits=1, false=1, missed=0)
    assert part("all", least=2).looping == 1


def test_healthy_are_labelled_sessions_without_repetition_and_loop_free_sources() -> None:
    assert part("all").healthy == 4
    # sola::fine once; tau::two twice, for 2 and 3 are one alarm.
    assert row("all").healthy == AlarmRate(sessions=4, alarmed=2, alarms=3)


def test_a_session_that_nobody_labelled_is_never_healthy_on_its_own() -> None:
    assert row("wild").healthy == AlarmRate(sessions=0, alarmed=0, alarms=0)
    assert row("wild").every == AlarmRate(sessions=1, alarmed=1, alarms=1)


def test_the_delay_runs_from_the_first_repetition_to_the_first_alarm() -> None:
    assert row("all").delay == Delay(noticed=1, unnoticed=1, median=1, longest=1)


def test_each_rule_is_weighed() -> None:
    r1, r3 = row("all").rules
    assert (r1.rule, r1.alone, r1.only, r1.healthy) == ("R1", Counts(2, 0, 3), Counts(1, 0), 0)
    assert (r3.rule, r3.alone, r3.only, r3.healthy) == ("R3", Counts(2, 2, 3), Counts(1, 2), 2)


def test_records_are_taken_apart_by_kind() -> None:
    kinds = row("all").kinds
    assert kinds[Kind.SAME_TOOL] == Counts(hits=2, false=0, missed=1)
    assert kinds[Kind.OTHER] == Counts(hits=1, false=2, missed=1)
    assert total(kinds.values()) == row("all").steps.counts


def test_the_order_of_the_sessions_does_not_matter() -> None:
    backwards = evaluate(SESSIONS[::-1], ["verdict-warning"], lambda name: name == "tau")
    assert backwards == evaluate(SESSIONS, ["verdict-warning"], lambda name: name == "tau")
