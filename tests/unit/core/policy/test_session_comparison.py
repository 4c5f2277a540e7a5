"""For a session: who found the loop, by which rule and when, and how many alerts each side published."""

from typing import Any

import pytest

from streams.core.domain.decision import Decision
from streams.core.domain.outcome import Event, Rejected, Scored
from streams.core.domain.topic import Topic
from streams.core.policy.comparison import DifferenceKind
from streams.core.policy.session_comparison import Detection, FoundBy, SessionComparison, alert_rule
from tests.stream import decision_log

Told = dict[str, Any]
LOOP: Told = {"event_type": "loop_episode", "phase": "opened", "level": "LOOP", "rule": "R1"}
WARNING = LOOP | {"level": "WARNING", "rule": "R2"}
RECOVERED = LOOP | {"phase": "recovered"}
PATTERN: Told = {"event_type": "drift_pattern", "pattern": "read_loop", "phase": "alert"}


def outcome(offset: int, *told: Told, published: bool = True) -> Scored:
    events = tuple(
        Event(Topic.SESSION_ALERTS if published else None, {"id": f"{number}", **fields})
        for number, fields in enumerate(told)
    )
    return Scored(Decision.of(0, offset, decision_log()), {"eddy": {}}, events, "active", ())


def compared(*records: tuple[tuple[Told, ...], tuple[Told, ...]]) -> SessionComparison:
    session = SessionComparison(0, "s1", "agent-1")
    for number, (a, b) in enumerate(records):
        session.add(outcome(100 + number, *a), outcome(100 + number, *b))
    return session


@pytest.mark.parametrize(
    ("records", "found_by", "delay"),
    [
        ([((), ())], FoundBy.NEITHER, None),
        ([((LOOP,), ())], FoundBy.ONLY_A, None),
        ([((), ()), ((), (LOOP,))], FoundBy.ONLY_B, None),
        ([((LOOP,), (LOOP,))], FoundBy.BOTH, 0),
        ([((), (LOOP,)), ((), ()), ((LOOP,), ())], FoundBy.BOTH, -2),
        ([((LOOP,), ()), ((), (LOOP,))], FoundBy.BOTH, 1),
        ([((WARNING, PATTERN), (RECOVERED,))], FoundBy.NEITHER, None),
    ],
)
def test_a_loop_is_found_by_the_side_that_says_so(
    records: list[Any], found_by: FoundBy, delay: int | None
) -> None:
    session = compared(*records)
    assert (session.found_by, session.delay) == (found_by, delay)


def test_the_first_detection_is_kept_with_its_rule_and_place() -> None:
    session = compared(((), ()), ((LOOP,), ()), ((LOOP | {"rule": "R7"},), ()))
    assert session.a.loop == Detection(record=2, offset=101, rule="R1")
    assert session.b.loop is None


def test_alerts_are_counted_by_rule_and_the_end_of_an_episode_is_none() -> None:
    session = compared(((LOOP, PATTERN), (WARNING,)), ((RECOVERED, PATTERN), ()))
    assert session.a.alerts == {"R1": 1, "A3:read_loop": 2}
    assert session.b.alerts == {"R2": 1}


def test_what_stays_in_the_enriched_record_is_no_alert() -> None:
    session = SessionComparison(0, "s1", "agent-1")
    session.add(outcome(0, LOOP, published=False), outcome(0))
    assert (session.found_by, session.a.alerts) == (FoundBy.NEITHER, {})


def test_records_are_counted_and_those_that_differ_by_what_differs() -> None:
    session = compared(((), ()), ((LOOP,), ()), ((LOOP,), (LOOP,)))
    session.add(Rejected(("meta.timestamp:future",)), outcome(103))
    assert (session.records, session.differing) == (4, 2)
    assert session.kinds == {DifferenceKind.EVENTS: 1, DifferenceKind.OUTCOME: 1}


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"event_type": "entropy_alert"}, "A1"),
        ({"event_type": "divergence_suspected"}, "A2"),
        (PATTERN | {"phase": "escalation"}, "A3:read_loop"),
        (LOOP, "R1"),
        ({"event_type": "node_state"}, None),
        ({"event_type": "budget"}, None),
        ({"event_type": "response"}, None),
    ],
)
def test_the_rule_of_an_alert(fields: Told, rule: str | None) -> None:
    assert alert_rule(fields) == rule
