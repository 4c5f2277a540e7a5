"""A second document tried out on a stream: a state of its own, differences told, nothing else changed."""

from collections.abc import Iterable
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.outcome import Duplicate, Rejected
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.pipeline import admit, step
from streams.core.policy.comparison import Difference
from streams.core.settings_document import Shadow, resolve, to_document
from streams.core.shadow import difference_record, try_out, try_refused
from tests.stream import decision_log, repeated
from tests.streams_strategy import CHANGES, Change, Entry, Send, partitions

HOUR_MS = 3_600_000
LOG_MS = decision_log()["meta"]["timestamp"]


def settings(**changes: Any) -> DetectionSettings:
    return resolve({**to_document(DEFAULTS), **changes}, DEFAULTS, 7)[0]


class Trial:
    """Applies records to their sessions under the live settings and, where there is one, under a shadow."""

    def __init__(self, live: DetectionSettings = DEFAULTS, shadow: Shadow | None = None) -> None:
        self.live = live
        self.shadow = shadow
        self.sessions: dict[str, Session] = {}
        self.told: list[bytes] = []
        self._next = 0

    def send(self, value: dict[str, Any], partition: int = 0, offset: int | None = None) -> Difference | None:
        offset = self._next if offset is None else offset
        self._next = offset + 1
        record = Record(partition, offset, value.get("session_id"), LOG_MS, value)
        decision = admit(record, self.live)
        if isinstance(decision, Rejected):
            return None
        before = self.sessions.get(decision.session_id)
        after, outcome = step(before, decision, self.live)
        differs = None
        if not isinstance(outcome, Duplicate):
            if self.shadow is not None:
                after, differs = try_out(before, after, record, outcome, self.live, self.shadow)
            self.sessions[decision.session_id] = after
            events = [list(event) for event in outcome.events]
            self.told.append(orjson.dumps([outcome.enriched, events, outcome.node_state]))
        return differs

    def run(self, values: Iterable[dict[str, Any]]) -> list[bool]:
        """Send records; tell of each whether it differs."""
        return [self.send(value) is not None for value in values]

    def restart(self) -> None:
        """Read everything back from what would have been stored."""
        for name, session in self.sessions.items():
            self.sessions[name] = Session.restore(orjson.loads(orjson.dumps(session.snapshot())))


def test_a_shadow_begins_with_the_windows_the_session_has_filled() -> None:
    trial = Trial()
    trial.run(repeated(4))
    trial.shadow = Shadow(settings(), since=4)
    # With windows of its own the first records would be NORMAL.
    assert trial.run(repeated(6)[4:]) == [False, False]


def test_a_shadow_judges_by_its_own_settings_and_state() -> None:
    trial = Trial(shadow=Shadow(settings(entropy_window_size=3, entropy_loop_threshold=0.34), since=0))
    assert trial.run(repeated(5)) == [False, False, True, True, False]
    kept = trial.sessions["s1"].shadow
    assert kept is not None
    assert kept.states["uniqueness"] != trial.sessions["s1"].states["uniqueness"]


def test_a_changed_shadow_goes_on_with_its_state() -> None:
    trial = Trial(shadow=Shadow(settings(entropy_window_size=2), since=0))
    trial.run(repeated(4))
    trial.shadow = Shadow(settings(entropy_window_size=5), since=0)
    differs = trial.send(repeated(5)[4])
    # Its window grows from two: it cannot know the three records that the live one still has.
    assert differs is not None
    assert ("severity", "LOOP", "WARNING") in differs.fields


def test_without_a_shadow_its_state_is_dropped_with_the_next_record() -> None:
    trial = Trial(shadow=Shadow(settings(entropy_window_size=2), since=0))
    trial.run(repeated(4))
    trial.shadow = None
    assert trial.sessions["s1"].shadow is not None
    trial.run(repeated(5)[4:])
    assert trial.sessions["s1"].shadow is None


def test_what_was_kept_from_an_earlier_trial_is_not_used() -> None:
    trial = Trial(shadow=Shadow(settings(entropy_window_size=2), since=0))
    trial.run(repeated(4))
    # Off and on again between two records of the session.
    trial.shadow = Shadow(settings(entropy_window_size=5), since=4)
    assert trial.run(repeated(5)[4:]) == [False]


def test_a_record_the_shadow_refuses_is_told_and_leaves_its_state() -> None:
    trial = Trial(shadow=Shadow(settings(max_future_ms=1000), since=0))
    first, second, third = (decision_log(number=number, at_ms=number * 1000) for number in range(3))
    assert trial.run([first, second]) == [False, False]
    kept = trial.sessions["s1"].shadow
    third["meta"]["timestamp"] = LOG_MS + 2000
    differs = trial.send(third)
    assert differs is not None
    assert differs.fields == (("outcome", "scored", "rejected"),)
    after = trial.sessions["s1"].shadow
    assert after is not None
    assert kept is not None
    assert after._replace(offset=kept.offset) == kept
    assert after.offset == 2


def test_a_session_whose_first_record_the_shadow_refuses_begins_with_the_second() -> None:
    trial = Trial(shadow=Shadow(settings(max_future_ms=1000), since=0))
    trial.send(decision_log(at_ms=2000))
    trial.send(decision_log(number=1, at_ms=0))
    kept = trial.sessions["s1"].shadow
    assert kept is not None
    assert (trial.sessions["s1"].step, kept.step) == (2, 1)


def test_a_record_that_the_shadow_alone_accepts_is_told() -> None:
    record = Record(0, 5, "s1", LOG_MS - 2 * HOUR_MS, decision_log())
    assert isinstance(admit(record, DEFAULTS), Rejected)
    assert try_refused(record, DEFAULTS, Shadow(settings(entropy_window_size=2), 0)) is None
    assert try_refused(record, DEFAULTS, Shadow(settings(max_future_ms=1000), 0)) is None
    found = try_refused(record, DEFAULTS, Shadow(settings(max_future_ms=0), 0))
    assert found is not None
    assert (found[0].offset, found[1].fields) == (5, (("outcome", "rejected", "scored"),))


def test_a_difference_is_told_with_its_place_and_both_versions() -> None:
    shadow = Shadow(settings(entropy_window_size=3, entropy_loop_threshold=0.34), since=0)
    trial = Trial(shadow=shadow)
    trial.run(repeated(2))
    value = repeated(3)[2]
    differs = trial.send(value)
    assert differs is not None
    decision = admit(Record(0, 2, "s1", None, value), DEFAULTS)
    assert not isinstance(decision, Rejected)
    assert difference_record(decision, differs, DEFAULTS, shadow) == {
        "id": "s1/0/2/shadow",
        "session_id": "s1",
        "agent_id": "agent-1",
        "event_id": "s1-e2",
        "timestamp": LOG_MS + 2000,
        "partition": 0,
        "offset": 2,
        "settings_version": 0,
        "shadow_version": 7,
        "differences": [
            {"field": "severity", "live": "WARNING", "shadow": "LOOP"},
            {"field": "node_state", "live": "blocked", "shadow": "alert_entropy"},
        ],
        "only_live": [{"event_type": "node_state", "id": "s1/0/2/node_state/blocked"}],
        "only_shadow": [
            {"event_type": "entropy_alert", "id": "s1/0/2/entropy_alert"},
            {"event_type": "node_state", "id": "s1/0/2/node_state/alert_entropy"},
        ],
    }


def sends(entries: list[Entry]) -> list[Send]:
    return [entry for entry in entries if isinstance(entry, Send)]


@given(partitions(moving=False), st.data())
def test_a_shadow_equal_to_the_live_document_never_differs(entries: list[Entry], data: st.DataObject) -> None:
    records = sends(entries)
    begins = data.draw(st.integers(0, len(records)))
    trial = Trial()
    for number, record in enumerate(records):
        if number == begins:
            trial.shadow = Shadow(settings(), since=record.offset)
        if data.draw(st.booleans()):
            trial.restart()
        assert trial.send(record.value, 0, record.offset) is None


@given(partitions(), st.data())
def test_what_is_live_is_the_same_with_and_without_a_shadow(
    entries: list[Entry], data: st.DataObject
) -> None:
    alone, beside = Trial(), Trial()
    for entry in entries:
        match entry:
            case Change(changes):
                trying = data.draw(st.booleans())
                beside.shadow = Shadow(settings(**changes), since=0) if trying else None
            case Send(value, partition, offset):
                alone.send(value, partition, offset)
                beside.send(value, partition, offset)
    assert alone.told == beside.told
    assert {name: session._replace(shadow=None) for name, session in beside.sessions.items()} == (
        alone.sessions
    )


@given(partitions(), CHANGES, st.data())
def test_a_restart_between_any_two_records_changes_no_difference(
    entries: list[Entry], changes: dict[str, Any], data: st.DataObject
) -> None:
    shadow = Shadow(settings(**changes), since=0)
    whole, cut = Trial(shadow=shadow), Trial(shadow=shadow)
    for record in sends(entries):
        if data.draw(st.booleans()):
            cut.restart()
        place = record.value, record.partition, record.offset
        assert whole.send(*place) == cut.send(*place)
    for name, session in whole.sessions.items():
        assert orjson.dumps(session.snapshot()) == orjson.dumps(cut.sessions[name].snapshot())
