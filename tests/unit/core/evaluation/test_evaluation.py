"""A hand-computed comparison of three sources."""

import pytest

from streams.core.evaluation.alarms import EVIDENCE
from streams.core.evaluation.estimate import Estimate
from streams.core.evaluation.evaluation import (
    AlarmRate,
    DetectorRow,
    Evaluated,
    SessionGroup,
    SourceRows,
    evaluate,
)
from streams.core.evaluation.labels import SessionLabel, StuckLabel, source_of
from streams.core.evaluation.scores import Counts, total
from streams.core.evaluation.watch import CallKind, DetectorWatch

RECORDS = 10


def session(
    name: str,
    marked: set[int] | None,
    *,
    stuck: StuckLabel | None = None,
    solved: bool | None = None,
    rewards: tuple[float | None, ...] | None = None,
    tokens: dict[int, float] | None = None,
    **raised: set[int],
) -> Evaluated:
    """A session of ten records; ``raised`` by rule of verdict-warning."""
    watch = DetectorWatch()
    watch.records = RECORDS
    watch.raised["verdict-warning"] = raised
    # The even ones of the ten records called the same tool as the record before.
    watch.kinds = {CallKind.SAME_TOOL: set(range(2, RECORDS, 2)), CallKind.OTHER: set(range(1, RECORDS, 2))}
    repetitions = None if marked is None else frozenset(marked)
    transitions = 0 if marked is None else RECORDS - 1
    watch.tokens = tokens or {}
    label = SessionLabel(name, source_of(name), repetitions, transitions, stuck, solved, rewards)
    return Evaluated(label, watch)


SESSIONS = [
    session("sola::loops", {3, 4, 5, 6}, stuck=StuckLabel(True, 3), solved=False, R1={4, 5}, R7={5, 6, 7}),
    session("sola::missed", {2}, stuck=StuckLabel(True, 2), solved=False),
    session("sola::fine", set(), stuck=StuckLabel(False), solved=True, R7={9}),
    session("sola::quiet", set()),
    session("sola::unlabelled", None, R1={1}),
    session("tau::one", None),
    session("tau::two", None, R7={2, 3, 8}),
    session("wild::one", None, stuck=StuckLabel(None), R1={5}),
]


def part(source: str, least: int = 1) -> SourceRows:
    parts = evaluate(SESSIONS, ["verdict-warning"], lambda name: name == "tau", least)
    return next(part for part in parts if part.source == source)


def row(source: str) -> DetectorRow:
    return part(source).rows[0]


def counted(rate: AlarmRate) -> tuple[int, int, int]:
    return rate.sessions, rate.alarmed, rate.alarms


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
    assert counted(row("all").healthy) == (4, 2, 3)


def test_a_session_that_nobody_labelled_is_never_healthy_on_its_own() -> None:
    assert counted(row("wild").healthy) == (0, 0, 0)
    assert counted(row("wild").every) == (1, 1, 1)


def test_the_delay_runs_from_the_first_repetition_to_the_first_alarm() -> None:
    delay = row("all").delay
    assert (delay.noticed, delay.unnoticed, delay.median.value) == (1, 1, 1)


def test_stuck_sessions_are_found_and_those_that_are_not_raise_false_alarms() -> None:
    found = row("all").stuck
    assert found is not None
    assert found.counts == Counts(hits=1, false=1, missed=1)
    # Stuck from 3 to 9 and from 2 to 9; the alarm is on 4.
    assert (found.delay.median.value, found.spared.value) == (1, 5 / 15)
    assert (part("all").stuck, part("all").free, part("all").disputed) == (2, 1, 1)


def test_stuck_sessions_are_scored_by_rule_where_there_are_several() -> None:
    by_rule = row("all").stuck_by_rule
    assert {rule: scores.counts for rule, scores in by_rule.items()} == {
        "R1": Counts(hits=1, missed=1),
        "R7": Counts(hits=1, false=1, missed=1),
    }
    assert row("wild").stuck_by_rule == {}


def test_what_is_said_later_has_no_delay() -> None:
    (later,) = evaluate(SESSIONS, [EVIDENCE], lambda _: False)[0].rows
    assert (later.stuck, later.stuck_by_rule, later.failed_spared) == (None, {}, None)
    assert (later.failed_tokens_spared, later.right_to_stop) == (None, None)


def test_sessions_are_told_apart_by_how_they_ended() -> None:
    assert (part("all").solved, part("all").failed) == (1, 2)
    assert counted(row("all").solved) == (1, 1, 1)
    assert counted(row("all").failed) == (2, 1, 1)
    spared = row("all").failed_spared
    assert spared is not None
    assert spared.value == 5 / 20


def test_alarms_per_100_are_of_all_sessions_labelled_or_not() -> None:
    every = row("all").every
    assert counted(every) == (8, 5, 6)
    assert every.alarmed_share.value == 5 / 8
    # Wilson's interval of 5 of 8.
    assert every.alarmed_share.interval == pytest.approx((0.3057, 0.8632), abs=5e-5)


def test_tokens_are_spared_in_failed_sessions() -> None:
    sessions = [
        session("s::1", None, solved=False, tokens={1: 10, 4: 20, 6: 30}, R1={4}),
        session("s::2", None, solved=False, R1={1}),
        session("s::3", None, solved=True, tokens={9: 1000}, R1={1}),
    ]
    (part,) = evaluate(sessions, ["verdict-warning"], lambda _: False)
    spared = part.rows[0].failed_tokens_spared
    assert spared is not None
    assert (spared.value, part.failed, part.failed_with_tokens) == (30 / 60, 2, 1)
    # Without tokens nobody knows.
    unknown = row("all").failed_tokens_spared
    assert unknown is not None
    assert unknown.value is None


def test_stopping_is_judged_by_the_first_alarm_of_sessions_with_rewards() -> None:
    flat, risen = (0.0,) * RECORDS, (0.0,) * 5 + (1.0,) * 5
    sessions = [
        session("s::1", None, rewards=flat, R1={3}),
        session("s::2", None, rewards=risen, R1={4}, R7={7}),
        session("s::3", None, rewards=risen, R7={5}),
        session("s::4", None, rewards=risen),
        session("s::5", None, R1={3}),
    ]
    (part,) = evaluate(sessions, ["verdict-warning"], lambda _: False)
    found = part.rows[0].right_to_stop
    assert found is not None
    assert (part.rewarded, found.right, found.wrong, found.unknown) == (4, 2, 1, 0)


def test_each_rule_is_weighed() -> None:
    r1, r7 = row("all").rules
    assert (r1.rule, r1.alone, r1.only, r1.healthy) == ("R1", Counts(2, 0, 3), Counts(1, 0), 0)
    assert (r7.rule, r7.alone, r7.only, r7.healthy) == ("R7", Counts(2, 2, 3), Counts(1, 2), 2)


def test_records_are_taken_apart_by_kind() -> None:
    kinds = row("all").kinds
    assert kinds[CallKind.SAME_TOOL].counts == Counts(hits=2, false=0, missed=1)
    assert kinds[CallKind.OTHER].counts == Counts(hits=1, false=2, missed=1)
    assert total(scores.counts for scores in kinds.values()) == row("all").steps.counts


def test_the_order_of_the_sessions_does_not_matter() -> None:
    backwards = evaluate(SESSIONS[::-1], ["verdict-warning"], lambda name: name == "tau")
    assert backwards == evaluate(SESSIONS, ["verdict-warning"], lambda name: name == "tau")


def watch(tokens: dict[int, float], *raised: int) -> DetectorWatch:
    """A session of four records."""
    found = DetectorWatch()
    found.records = 4
    found.raised["repeat"] = {"A2": set(raised)}
    found.tokens = tokens
    return found


def rate(*sessions: set[int]) -> AlarmRate:
    return SessionGroup([watch({}, *raised) for raised in sessions]).rate("repeat")


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


def test_records_and_tokens_after_the_first_alarm_are_shares_of_all() -> None:
    group = SessionGroup([watch({0: 10, 1: 20, 2: 30, 3: 40}, 1, 3), watch({2: 100})])
    assert group.spared("repeat").value == 2 / 8
    assert group.tokens_spared("repeat").value == 70 / 200


def test_without_a_record_that_has_tokens_what_is_spared_is_unknown() -> None:
    group = SessionGroup([watch({}, 1), watch({})])
    assert group.spared("repeat").value == 2 / 8
    assert group.tokens_spared("repeat") == Estimate(None, None)
