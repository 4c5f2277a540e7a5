"""The same records under two documents: each judged as if alone, told session by session, in one order."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given

from streams.core.backtest import Backtest
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.outcome import Scored
from streams.core.domain.record import Record
from streams.core.policy.session_comparison import FoundBy, SessionComparison, alert_rule
from streams.core.settings_document import resolve
from tests.stream import START_MS, Stream, decision_log, repeated
from tests.streams_strategy import Entry, Send, partitions

DAY_MS = 86_400_000


def settings(**changes: Any) -> DetectionSettings:
    return resolve(changes, DEFAULTS, 1)[0]


# Without the stuck score, which counts the same.
R1 = {"verdict_rules": ["R1"]}
ALONE = settings(**R1)


def record(value: dict[str, Any], offset: int, timestamp: int | None = None, partition: int = 0) -> Record:
    return Record(partition, offset, value.get("session_id"), timestamp, value)


def played(test: Backtest, records: Iterable[Record]) -> list[SessionComparison]:
    told = [session for each in records for session in test.add(each)]
    return [*told, *test.finish()]


def test_equal_documents_differ_nowhere() -> None:
    test = Backtest(DEFAULTS, settings())
    [session] = played(test, [record(value, offset) for offset, value in enumerate(repeated(8))])
    assert (session.records, session.differing, session.found_by) == (8, 0, FoundBy.BOTH)
    assert (session.delay, session.a.alerts) == (0, session.b.alerts)
    assert (test.totals.sessions, test.totals.differing_sessions) == (1, 0)


def test_a_loop_that_only_one_of_them_finds() -> None:
    test = Backtest(ALONE, settings(**R1, identical_failing_warn=9, identical_failing_loop=9))
    [session] = played(test, [record(value, offset) for offset, value in enumerate(repeated(6))])
    assert session.found_by is FoundBy.ONLY_A
    assert session.a.loop is not None
    assert (session.a.loop.rule, session.a.loop.record) == ("R1", 4)
    assert test.totals.loops == {FoundBy.ONLY_A: 1}


def test_a_loop_that_b_finds_later() -> None:
    test = Backtest(ALONE, settings(**R1, identical_failing_loop=6))
    [session] = played(test, [record(value, offset) for offset, value in enumerate(repeated(6))])
    assert session.delay == 2
    assert (test.totals.earlier, test.totals.later) == (0, 1)


@given(partitions())
def test_each_side_judges_as_if_it_were_alone(entries: list[Entry]) -> None:
    sends = [entry for entry in entries if isinstance(entry, Send)]
    changes = {"entropy_window_size": 3, "repeat_ring_size": 4, "session_ttl_ms": 5000}
    test = Backtest(DEFAULTS, settings(**changes))
    sessions = played(test, [record(each.value, each.offset, None, each.partition) for each in sends])
    for side, stream in (("a", Stream()), ("b", Stream(**changes))):
        alerts: dict[str, int] = {}
        # A session that moves to another partition is another session there.
        streams = {0: stream, 1: Stream(**({} if side == "a" else changes))}
        for each in sends:
            outcome = streams[each.partition].send(each.value, partition=each.partition, offset=each.offset)
            for event in outcome.events if isinstance(outcome, Scored) else ():
                rule = alert_rule(event.fields) if event.topic is not None else None
                if rule is not None:
                    alerts[rule] = alerts.get(rule, 0) + 1
        found: dict[str, int] = {}
        for session in sessions:
            for rule, count in getattr(session, side).alerts.items():
                found[rule] = found.get(rule, 0) + count
        assert found == alerts


def test_a_session_is_told_when_it_ends_and_the_others_in_the_order_they_began() -> None:
    test = Backtest(DEFAULTS, DEFAULTS)
    values = [
        decision_log(session="late", number=0),
        decision_log(session="ends", number=1),
        decision_log(session="other", number=2),
        decision_log(session="ends", number=3, terminal=True),
        decision_log(session="late", number=4),
        decision_log(session="ends", number=5),
    ]
    told = played(test, [record(value, offset) for offset, value in enumerate(values)])
    assert [(session.session_id, session.records) for session in told] == [
        ("ends", 2),
        ("late", 2),
        ("other", 1),
        ("ends", 1),
    ]


def test_by_the_clock_of_the_topic_a_quiet_session_ends_and_memory_is_free() -> None:
    test = Backtest(DEFAULTS, settings(session_ttl_ms=1000, state_grace_ms=0))
    told = []
    for number in range(100):
        value = decision_log(session=f"s{number}", at_ms=number * DAY_MS)
        told += list(test.add(record(value, number, START_MS + number * DAY_MS)))
        # Two days are what the defaults let a quiet session live.
        assert len(test._under_way) <= 3
    assert [session.session_id for session in told] == [f"s{number}" for number in range(97)]


@pytest.mark.parametrize("changes", [{"session_ttl_ms": 0}, {}])
def test_without_a_clock_or_an_end_of_life_no_quiet_session_ends(changes: dict[str, Any]) -> None:
    test = Backtest(DEFAULTS, settings(**changes))
    for number in range(5):
        value = decision_log(session=f"s{number}", at_ms=number * 9 * DAY_MS)
        timestamp = START_MS + number * 9 * DAY_MS if changes else None
        assert list(test.add(record(value, number, timestamp))) == []


def test_partitions_are_told_apart_and_have_clocks_of_their_own() -> None:
    test = Backtest(DEFAULTS, DEFAULTS)
    late, early = START_MS + 50 * DAY_MS, START_MS
    list(test.add(record(decision_log(at_ms=late - START_MS), 0, late)))
    assert [session.partition for session in test.finish()] == [0]
    for number in range(3):
        timestamp = early + number * DAY_MS
        value = decision_log(at_ms=number * DAY_MS, number=number)
        assert list(test.add(record(value, number, timestamp, partition=1))) == []
    assert [(session.partition, session.records) for session in test.finish()] == [(1, 3)]


def test_a_record_that_one_of_them_refuses_counts_and_differs() -> None:
    test = Backtest(DEFAULTS, settings(max_future_ms=0))
    ahead = decision_log(at_ms=2 * 3_600_000)
    [session] = played(test, [record(ahead, 0, START_MS)])
    assert (session.records, session.differing) == (1, 1)
    invalid = decision_log() | {"event_id": ""}
    assert played(test, [record(invalid, 1)]) == []
    test.unreadable()
    assert (test.totals.records, test.totals.rejected, test.totals.unreadable) == (1, 1, 1)


def test_a_terminal_record_that_one_of_them_refuses_does_not_end_the_session_for_it() -> None:
    test = Backtest(DEFAULTS, settings(max_future_ms=0))
    first = record(decision_log(), 0, START_MS)
    last = record(decision_log(number=1, at_ms=2 * 3_600_000, terminal=True), 1, START_MS)
    assert played(Backtest(DEFAULTS, DEFAULTS), [first]) != []
    told = [*test.add(first), *test.add(last)]
    assert told == []
    [session] = test.finish()
    assert session.records == 2
