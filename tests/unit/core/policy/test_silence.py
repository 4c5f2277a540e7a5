"""When a session that owes a step counts as silent, by its own habit, and what is told of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.decision import Decision
from streams.core.domain.outcome import Scored
from streams.core.domain.session import DamagedSessionError, Session
from streams.core.domain.topic import Topic
from streams.core.pipeline import admit, expire, fall_silent, silence_limit, step
from streams.core.policy.silence import FEWEST_GAPS, PACE, PATIENCE, Pace, pace_of
from tests.stream import Stream, decision_log

LEAST_MS = DEFAULTS.silence_ms
SECOND = 1_000


def steps(stream: Stream, count: int, gap_ms: int = SECOND, **changes: Any) -> Session:
    """Send so many calls, and return their session."""
    for number in range(count):
        value = decision_log(tool="Bash", status="success", number=number, at_ms=number * gap_ms, **changes)
        stream.send(value)
    return stream.sessions["s1"]


def events_of(outcome: object) -> list[dict[str, Any]]:
    assert isinstance(outcome, Scored)
    return [each.fields for each in outcome.events if each.fields["event_type"] == "silent_session"]


def admitted(offset: int) -> Decision:
    """Return a call as it is admitted."""
    value = decision_log(tool="Bash", status="success", number=offset)
    found = admit(Stream().record(value, offset=offset), DEFAULTS)
    assert isinstance(found, Decision)
    return found


def limit(session: Session, settings: DetectionSettings = DEFAULTS) -> int | None:
    return silence_limit("s1", session, settings)


def test_a_session_without_a_habit_has_more_patience() -> None:
    assert limit(steps(Stream(), FEWEST_GAPS)) == PATIENCE * LEAST_MS
    assert limit(steps(Stream(), FEWEST_GAPS + 1)) == LEAST_MS


@pytest.mark.parametrize(("gap_ms", "wanted"), [(SECOND, LEAST_MS), (400_000, 4 * 512_000)])
def test_the_limit_is_a_multiple_of_what_is_usual_and_at_least_some_minutes(gap_ms: int, wanted: int) -> None:
    assert limit(steps(Stream(), 30, gap_ms)) == wanted


def test_one_long_step_among_many_changes_no_habit() -> None:
    stream = Stream()
    steps(stream, 40)
    stream.send(decision_log(tool="Bash", status="success", number=99, at_ms=9_000_000))
    assert limit(stream.sessions["s1"]) == LEAST_MS


@pytest.mark.parametrize(
    ("last", "owes"),
    [
        ({"tool": "Bash", "status": "success"}, True),
        ({"tool": "Bash", "status": "failure"}, True),
        ({"tool": "Bash", "status": "pending"}, True),
        ({"tool": None, "status": "pending"}, True),
        ({"tool": None, "status": "success"}, False),
        ({"tool": "Bash", "status": "skipped"}, False),
        ({"tool": None, "status": "success", "kind": "system"}, False),
    ],
)
def test_an_agent_owes_a_step_after_a_call_and_none_after_its_answer(
    last: dict[str, Any], owes: bool
) -> None:
    stream = Stream()
    stream.send(decision_log(**last))
    assert (limit(stream.sessions["s1"]) is not None) == owes


def test_whoever_waits_for_a_person_is_not_silent() -> None:
    stream = Stream()
    stream.send(decision_log(tool="Bash", status="success") | {"control": {"hitl_required": True}})
    assert limit(stream.sessions["s1"]) is None


@pytest.mark.parametrize(
    ("first", "later", "attended"),
    [
        ("task", None, False),
        (None, None, False),
        (None, "task", True),
        ("task", "approval", True),
        ("correction", None, True),
        ("task", "interruption", True),
    ],
)
def test_where_a_person_has_spoken_since_the_first_record_silence_may_be_theirs(
    first: str | None, later: str | None, attended: bool
) -> None:
    stream = Stream()
    for number, turn in enumerate((first, later, None)):
        value = decision_log(tool="Bash", status="success", number=number)
        value["meta"]["user_turn"] = turn
        stream.send(value)
    session = stream.sessions["s1"]
    assert (limit(session) is None) == attended
    assert limit(session, replace(DEFAULTS, silence_attended=True)) is not None


def test_silence_can_be_switched_off() -> None:
    assert limit(steps(Stream(), 30), replace(DEFAULTS, silence_ms=0)) is None


def test_an_ended_session_is_not_silent() -> None:
    stream = Stream()
    stream.send(decision_log(tool="Bash", status="success", terminal=True))
    assert limit(stream.sessions["s1"]) is None


def test_what_is_told_is_about_the_last_record_whenever_it_is_told() -> None:
    session = steps(Stream(), 30)
    told = fall_silent("s1", session, LEAST_MS, DEFAULTS)
    assert told == fall_silent("s1", session, LEAST_MS, DEFAULTS)
    assert told.event.topic is Topic.SESSION_ALERTS
    assert told.event.fields == {
        "id": "s1/0/29/silent_session/silent",
        "event_type": "silent_session",
        "session_id": "s1",
        "agent_id": "agent-1",
        "event_id": "s1-e29",
        "timestamp": session.timestamp,
        "partition": 0,
        "offset": 29,
        "phase": "silent",
        "limit_ms": LEAST_MS,
        "habit_ms": 2_000,
        "decided_by": "clock",
    }
    assert limit(told.session) is None, "it is told once"


def test_the_next_record_says_that_it_speaks_again_and_nothing_more_later() -> None:
    stream = Stream()
    session = steps(stream, 30)
    stream.sessions["s1"] = fall_silent("s1", session, LEAST_MS, DEFAULTS).session
    [spoke] = events_of(
        stream.send(decision_log(tool="Bash", status="success", number=50, at_ms=29_000 + 3_000_000))
    )
    assert spoke["id"] == "s1/0/30/silent_session/spoke"
    assert (spoke["phase"], spoke["silent_ms"], spoke["limit_ms"], spoke["decided_by"]) == (
        "spoke",
        3_000_000,
        LEAST_MS,
        "record",
    )
    assert not events_of(stream.send(decision_log(tool="Bash", status="success", number=51)))
    assert limit(stream.sessions["s1"]) is not None, "it may fall silent once more"


def test_a_record_that_was_on_its_way_when_the_clock_decided_ends_it_too() -> None:
    stream = Stream()
    session = steps(stream, 30)
    stream.sessions["s1"] = fall_silent("s1", session, LEAST_MS, DEFAULTS).session
    [spoke] = events_of(stream.send(decision_log(tool="Bash", status="success", number=5)))
    assert spoke["silent_ms"] == 0


@pytest.mark.parametrize(("gap_ms", "tells"), [(LEAST_MS, False), (LEAST_MS + 1, True)])
def test_records_alone_say_that_a_session_was_silent_where_no_clock_has(gap_ms: int, tells: bool) -> None:
    stream = Stream()
    steps(stream, 30)
    value = decision_log(tool="Bash", status="success", number=50, at_ms=29_000 + gap_ms)
    assert [each["silent_ms"] for each in events_of(stream.send(value))] == [gap_ms] * tells


def test_a_duplicate_ends_no_silence() -> None:
    stream = Stream()
    session = fall_silent("s1", steps(stream, 30), LEAST_MS, DEFAULTS).session
    stream.sessions["s1"] = session
    stream.send(decision_log(tool="Bash", status="success", number=29), offset=29)
    assert stream.sessions["s1"] == session


def test_one_that_expires_in_its_silence_is_told_to_have_ended() -> None:
    session = fall_silent("s1", steps(Stream(), 30), LEAST_MS, DEFAULTS).session
    ends = [each.fields for each in expire("s1", session, DEFAULTS).events]
    [ended] = [each for each in ends if each["event_type"] == "silent_session"]
    assert (ended["id"], ended["reason"]) == ("s1/0/29/silent_session/ended/expired", "expired")


def test_the_state_is_the_same_once_stored_and_restored() -> None:
    stream = Stream()
    session = fall_silent("s1", steps(stream, 30), LEAST_MS, DEFAULTS).session
    restored = Session.restore(orjson.loads(orjson.dumps(session.snapshot())))
    assert pace_of(restored.states) == pace_of(session.states)
    record = stream.record(decision_log(tool="Bash", status="success", number=40))
    twin = Stream()
    twin.sessions["s1"] = restored
    stream.sessions["s1"] = session
    assert stream.apply(record) == twin.apply(record)


def test_a_session_of_a_version_that_kept_no_pace_may_have_heard_a_person() -> None:
    session = steps(Stream(), 30)
    older = session._replace(states={name: each for name, each in session.states.items() if name != PACE})
    heard = replace(DEFAULTS, silence_attended=True)
    assert limit(older, heard) is None, "what its last record was is not known"
    stream = Stream()
    stream.sessions["s1"] = older
    stream.send(decision_log(tool="Bash", status="success", number=40), offset=40)
    assert limit(stream.sessions["s1"]) is None
    assert limit(stream.sessions["s1"], heard) == PATIENCE * LEAST_MS


def test_what_is_tried_out_is_told_silent_along_so_that_nothing_differs() -> None:
    session = steps(Stream(), 30)
    told = fall_silent("s1", session._replace(shadow=session), LEAST_MS, DEFAULTS).session
    assert told.shadow is not None
    assert pace_of(told.shadow.states) == pace_of(told.states)


def test_a_damaged_pace_is_named() -> None:
    session = steps(Stream(), 30)
    broken = session._replace(states={**session.states, PACE: ["A", True, False, 0, "more"]})
    with pytest.raises(DamagedSessionError, match="s1"):
        limit(broken)
    with pytest.raises(DamagedSessionError, match="s1"):
        step(broken, admitted(offset=40), DEFAULTS)


@given(st.lists(st.integers(-(10**6), 2**62), max_size=300))
def test_the_state_stays_small_and_its_habit_is_one_of_its_gaps_rounded_up(gaps: list[int]) -> None:
    pace = Pace(owed=True)
    decision = admitted(0)
    for gap in gaps:
        pace, found = pace.after(decision, gap, replace(DEFAULTS, silence_ms=0))
        assert found is None
    assert len(pace.gaps) <= 18
    habit = pace.habit_ms
    if habit is not None:
        capped = [min(max(0, gap), 2**17 * SECOND - 1) for gap in gaps]
        assert any(habit / 2 <= gap < habit or (gap < SECOND and habit == SECOND) for gap in capped)
    assert (habit is not None) == (len(gaps) >= FEWEST_GAPS)
