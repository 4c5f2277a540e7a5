"""Admitting a record, applying it, and ending a session. The detectors have tests of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import orjson
import pytest

import streams.core.conclusion
import streams.core.pipeline
from streams.core.detectors.detector import CloseReason, Detector, Eddy, Layer, Observation
from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.aggregates.contribution import expiry_source
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.outcome import Duplicate, Finding, Rejected, Scored
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.core.pipeline import REMEMBERED, Expired, admit, expire, step
from tests.stream import START_MS, Stream, block, decision_log, repeated, told

DAY_MS = 86_400_000


class TestAdmit:
    @pytest.mark.parametrize("key", [None, "", "S1", "s1 "])
    def test_the_key_must_be_the_session_id(self, key: str | None) -> None:
        assert admit(Record(0, 0, key, None, decision_log()), DEFAULTS) == Rejected(("key",))
        assert isinstance(admit(Record(0, 0, "s1", None, decision_log()), DEFAULTS), Decision)

    @pytest.mark.parametrize("session_id", [None, "", 7])
    def test_without_a_session_id_the_key_is_no_problem_of_its_own(self, session_id: object) -> None:
        value = decision_log() | {"session_id": session_id}
        assert admit(Record(0, 0, "s1", None, value), DEFAULTS) == Rejected(("session_id",))

    @pytest.mark.parametrize(("ahead", "accepted"), [(0, True), (3_600_000, True), (3_600_001, False)])
    def test_the_time_must_not_be_ahead_of_kafkas(self, ahead: int, accepted: bool) -> None:
        admitted = admit(Record(0, 0, "s1", START_MS - ahead, decision_log()), DEFAULTS)
        assert isinstance(admitted, Decision) is accepted
        if not accepted:
            assert admitted == Rejected(("meta.timestamp:future",))

    @pytest.mark.parametrize(
        ("timestamp", "settings"),
        [(None, DEFAULTS), (0, DetectionSettings(max_future_ms=0)), (START_MS + DAY_MS, DEFAULTS)],
        ids=["no Kafka timestamp", "off", "long past"],
    )
    def test_when_the_time_is_not_checked(self, timestamp: int | None, settings: DetectionSettings) -> None:
        assert isinstance(admit(Record(0, 0, "s1", timestamp, decision_log()), settings), Decision)

    def test_all_problems_are_named_key_and_future_last(self) -> None:
        value = decision_log(status="maybe") | {"control": []}
        assert admit(Record(0, 0, "other", 0, value), DEFAULTS) == Rejected(
            ("action.status", "control", "key", "meta.timestamp:future")
        )

    def test_a_record_without_anything_is_rejected(self) -> None:
        rejected = admit(Record(0, 0, None, 0, {}), DEFAULTS)
        assert isinstance(rejected, Rejected)
        assert rejected.problems[:2] == ("session_id", "event_id")


class TestEnriched:
    def test_it_is_the_known_fields_and_the_block_eddy(self) -> None:
        value = decision_log() | {"colour": "red"}
        enriched = Stream().scored(value).enriched
        assert list(enriched["eddy"]) == [
            "id",
            "settings_version",
            "scoring_status",
            "step",
            *[detector.name for detector in DETECTORS],
            "completion",
            "events",
        ]
        assert {name: part for name, part in enriched.items() if name != "eddy"} == {
            **decision_log(),
            "cognition": {"intent": "search", "entropy_score": 1.0},
        }

    def test_its_id_is_its_place(self) -> None:
        assert block(Stream().scored(decision_log(), partition=3, offset=41), "id") == "s1/3/41/enriched"

    def test_it_names_the_version_of_the_settings(self) -> None:
        stream = Stream()
        assert block(stream.scored(decision_log()), "settings_version") == 0
        stream.set(entropy_window_size=4)
        assert block(stream.scored(decision_log()), "settings_version") == 1

    def test_steps_count_the_scored_records(self) -> None:
        stream = Stream(score_statuses=["failure"])
        values = [decision_log(), decision_log(status="success"), decision_log(None), decision_log(agent="")]
        assert [block(outcome, "step") for outcome in stream.run(values)] == [1, None, 2, 3]

    @pytest.mark.parametrize(
        ("value", "status"),
        [
            (decision_log(), "ok"),
            (decision_log(status="pending"), "skipped:status"),
            (decision_log(None), "skipped:no_cognition"),
            (decision_log(agent=" "), "failed:missing_agent_id"),
            (decision_log(None, status="pending", agent=""), "skipped:status"),
            (decision_log(None, agent=""), "skipped:no_cognition"),
        ],
    )
    def test_it_says_how_it_was_scored(self, value: dict[str, Any], status: str) -> None:
        outcome = Stream(score_statuses=["success", "failure"]).scored(value)
        assert block(outcome, "scoring_status") == status
        assert outcome.violations == (("missing_agent_id",) if status.startswith("failed") else ())

    def test_a_record_that_is_not_scored_has_no_blocks(self) -> None:
        outcome = Stream(score_statuses=[]).scored(decision_log())
        assert [block(outcome, name) for name in ("uniqueness", "repeat", "patterns")] == [None] * 3
        assert "entropy_score" not in outcome.enriched["cognition"]


class TestOrder:
    def test_a_record_at_or_below_the_position_is_a_duplicate(self) -> None:
        stream = Stream()
        stream.scored(decision_log(), offset=5)
        before = stream.sessions["s1"]
        for offset in (5, 4):
            assert isinstance(stream.send(decision_log(), offset=offset), Duplicate)
            assert stream.sessions["s1"] is before
        assert block(stream.scored(decision_log(number=1), offset=900), "step") == 2

    def test_another_partition_is_a_new_position(self) -> None:
        stream = Stream()
        stream.scored(decision_log(), offset=900)
        other = decision_log(number=1)
        assert block(stream.scored(other, partition=1, offset=3), "step") == 2
        assert isinstance(stream.send(decision_log(number=2), partition=1, offset=3), Duplicate)

    def test_a_late_timestamp_is_processed_where_it_arrives(self) -> None:
        stream = Stream()
        outcomes = stream.run([decision_log(at_ms=50_000), decision_log(at_ms=10_000)])
        assert [block(outcome, "step") for outcome in outcomes] == [1, 2]

    def test_the_same_event_id_with_other_content_is_a_new_record(self) -> None:
        stream = Stream()
        pending, done = decision_log(status="pending"), decision_log(status="success")
        later = decision_log(at_ms=1)
        steps = [
            block(stream.scored(each, offset=at), "step") for at, each in enumerate((pending, done, later))
        ]
        assert steps == [1, 2, 3]

    def test_an_event_that_was_sent_again_is_a_duplicate_and_changes_nothing(self) -> None:
        stream = Stream()
        stream.run([decision_log(number=number) for number in range(REMEMBERED)])
        before = stream.sessions["s1"]
        for number in range(REMEMBERED):
            again = stream.send(decision_log(number=number), offset=100 + number)
            assert isinstance(again, Duplicate)
        assert stream.sessions["s1"] is before

    def test_an_event_that_comes_again_after_many_others_is_a_new_record(self) -> None:
        stream = Stream()
        stream.run([decision_log(number=number) for number in range(REMEMBERED + 1)])
        assert isinstance(stream.send(decision_log(number=0), offset=100), Scored)

    def test_an_event_that_was_sent_again_is_known_after_a_restart(self) -> None:
        stream = Stream()
        stream.scored(decision_log())
        stream.sessions["s1"] = Session.restore(orjson.loads(orjson.dumps(stream.sessions["s1"].snapshot())))
        assert isinstance(stream.send(decision_log(), offset=100), Duplicate)

    def test_events_of_one_record_stand_in_order(self) -> None:
        stream = Stream(entropy_window_size=5, pattern_alpha=1.0, pattern_theta=5)
        thresholds = {"tool": 5, "llm": 5, "system": 999, "default": 999}
        stream.set(repeat_thresholds=thresholds, verdict_rules=["R1"], identical_warn=5, identical_loop=5)
        reading = {"status": "success", "target": "/f"}
        stream.run(repeated(4, **reading))
        outcome = stream.scored(decision_log(number=4, terminal=True, **reading))
        assert [event.fields["id"].removeprefix("s1/0/4/") for event in outcome.events] == [
            "entropy_alert",
            "loop_episode/opened",
            "divergence_suspected",
            "drift_pattern/read_loop/alert",
            "drift_pattern/read_loop/escalation",
            "node_state/alert_entropy",
            "loop_episode/recovered",
            "node_state/idle",
        ]


class TestLifeTime:
    @pytest.mark.parametrize(("gap", "step_after"), [(DAY_MS, 4), (DAY_MS + 1, 1)])
    def test_a_session_expires_after_its_time_to_live(self, gap: int, step_after: int) -> None:
        stream = Stream()
        stream.run(repeated(3))
        outcome = stream.scored(decision_log(at_ms=2000 + gap))
        assert block(outcome, "step") == step_after

    def test_the_greatest_timestamp_counts(self) -> None:
        stream = Stream()
        stream.run([decision_log(at_ms=50_000), decision_log(at_ms=0)])
        assert block(stream.scored(decision_log(at_ms=50_000 + DAY_MS)), "step") == 3

    def test_records_that_are_not_scored_keep_it_alive(self) -> None:
        stream = Stream(score_statuses=["failure"])
        values = [
            decision_log(at_ms=0),
            decision_log(at_ms=DAY_MS, status="success"),
            decision_log(at_ms=2 * DAY_MS),
        ]
        assert [block(outcome, "step") for outcome in stream.run(values)] == [1, None, 2]

    def test_zero_is_never(self) -> None:
        stream = Stream(session_ttl_ms=0)
        outcomes = stream.run([decision_log(at_ms=0), decision_log(at_ms=40 * DAY_MS)])
        assert block(outcomes[-1], "step") == 2

    def test_the_node_of_an_expired_session_is_reset_by_the_record_that_finds_it(self) -> None:
        stream = Stream()
        stream.run(repeated(5))
        outcome = stream.scored(decision_log(number=9, at_ms=2 * DAY_MS))
        (node,) = told(outcome, "node_state")
        assert (node["state"], node["previous_state"]) == ("active", "alert_entropy")
        assert (node["event_id"], node["offset"], node["id"]) == ("s1-e9", 5, "s1/0/5/node_state/active")
        assert block(outcome, "uniqueness")["score"] == 1.0

    def test_an_active_session_expires_in_silence(self) -> None:
        stream = Stream()
        stream.run([decision_log(), decision_log(tool="other")])
        assert stream.scored(decision_log(at_ms=2 * DAY_MS)).events == ()


class TestTerminal:
    def test_it_is_processed_and_then_the_node_is_idle(self) -> None:
        stream = Stream()
        stream.run(repeated(4))
        outcome = stream.scored(decision_log(number=4, terminal=True))
        assert block(outcome, "uniqueness")["severity"] == "LOOP"
        nodes = told(outcome, "node_state")
        assert [(node["state"], node["previous_state"]) for node in nodes] == [
            ("alert_entropy", "blocked"),
            ("idle", "alert_entropy"),
        ]
        assert outcome.node_state == "idle"

    def test_from_active_no_node_is_told(self) -> None:
        outcome = Stream().scored(decision_log(terminal=True))
        assert outcome.events == ()
        assert outcome.node_state == "idle"

    def test_a_redelivery_is_still_a_duplicate(self) -> None:
        stream = Stream()
        stream.scored(decision_log(terminal=True), offset=7)
        assert isinstance(stream.send(decision_log(terminal=True), offset=7), Duplicate)

    def test_a_later_record_starts_fresh(self) -> None:
        stream = Stream()
        stream.run([*repeated(4), decision_log(terminal=True)])
        outcome = stream.scored(decision_log(at_ms=2 * DAY_MS))
        assert block(outcome, "step") == 1
        assert outcome.events == ()
        assert outcome.node_state == "active"

    @pytest.mark.parametrize("control", [None, {}, {"is_terminal": False}, {"is_terminal": None}])
    def test_nothing_else_ends_a_session(self, control: dict[str, Any] | None) -> None:
        stream = Stream()
        stream.scored(decision_log() | {"control": control})
        assert not stream.sessions["s1"].ended


class TestHousekeeping:
    def test_removing_a_session_resets_its_node_at_its_last_record(self) -> None:
        stream = Stream()
        stream.run(repeated(5))
        episode, event = expire("s1", stream.sessions["s1"], DEFAULTS).events
        assert episode.fields["id"] == "s1/0/4/loop_episode/recovered/expired"
        assert episode.topic is Topic.SESSION_ALERTS
        assert event.topic is Topic.TOPOLOGY
        assert event.fields == {
            "id": "s1/0/4/node_state/active/expired",
            "event_type": "node_state",
            "session_id": "s1",
            "agent_id": "agent-1",
            "event_id": "s1-e4",
            "timestamp": START_MS + 4000,
            "partition": 0,
            "offset": 4,
            "node_id": "s1",
            "state": "active",
            "previous_state": "alert_entropy",
            "color": "#3b82f6",
        }

    def test_the_coordinates_are_of_the_last_record_not_of_the_latest(self) -> None:
        stream = Stream()
        stream.run([*repeated(5), decision_log(number=9, at_ms=-60_000, agent="agent-2")])
        event = expire("s1", stream.sessions["s1"], DEFAULTS).events[-1]
        assert event.fields["timestamp"] == START_MS - 60_000
        assert (event.fields["event_id"], event.fields["agent_id"]) == ("s1-e9", "agent-2")

    def test_an_active_session_and_a_stub_are_removed_in_silence(self) -> None:
        stream = Stream()
        stream.scored(decision_log())
        stream.scored(decision_log(session="s2", terminal=True))
        assert expire("s1", stream.sessions["s1"], DEFAULTS) == Expired()
        assert expire("s2", stream.sessions["s2"], DEFAULTS) == Expired()

    def test_a_session_that_loops_is_taken_out_of_the_counts_as_by_a_record_that_finds_it_expired(
        self,
    ) -> None:
        removed, left = Stream(), Stream()
        for stream in (removed, left):
            stream.run(repeated(5))
        found = removed.sessions["s1"]
        expired = expire("s1", found, DEFAULTS)
        late = left.scored(decision_log(number=9, at_ms=2 * DAY_MS, agent="agent-2"))
        left_out = [(made.key, made.counts["looping"]) for made in expired.contributions]
        assert left_out == [
            (made.key, made.counts["looping"]) for made in late.contributions if "looping" in made.counts
        ]
        assert left_out
        # A source of its own: it comes behind later records of the partition.
        places = {(made.partition, made.offset, made.at) for made in expired.contributions}
        assert places == {(expiry_source(0), 4, found.latest)}


class OpenState(NamedTuple):
    seen: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Judge(Detector[OpenState, DetectionSettings]):
    """Judges every record: an episode opens with the second one, and the end closes it."""

    name: ClassVar[str] = "verdict"
    layer: ClassVar[Layer] = Layer.JUDGES

    def fresh(self) -> OpenState:
        return OpenState()

    def restore(self, stored: Sequence[Any]) -> OpenState:
        return OpenState(*stored)

    def level(self, state: OpenState) -> Level:
        return Level.LOOP if state.seen > 1 else Level.NORMAL

    def observe(
        self, state: OpenState, decision: Decision, eddy: Eddy, settings: DetectionSettings
    ) -> Observation[OpenState]:
        state = OpenState(state.seen + 1)
        block = {"visible": True, "level": self.level(state).value, "episode_id": "episode"}
        return state, block, (self.episode("opened"),) if state.seen == 2 else ()

    def close(self, state: OpenState, reason: CloseReason) -> tuple[Finding, ...]:
        return (self.episode("recovered"),) if state.seen > 1 else ()

    def most_bytes(self, settings: DetectionSettings) -> int:
        return 0

    @staticmethod
    def episode(phase: str) -> Finding:
        fields = {"phase": phase, "level": "LOOP", "episode_id": "episode", "tools": [], "signatures": []}
        since_onset = {"tokens_since_onset": 0, "cost_since_onset": None}
        return Finding(EventKind.LOOP_EPISODE, {**fields, **since_onset, "phase": phase})


class TestAJudge:
    """A detector of layer B needs nothing but its place in the registry."""

    @pytest.fixture(autouse=True)
    def _registered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        others = [each for each in streams.core.pipeline.DETECTORS if each.name != Judge.name]
        detectors = (Judge(), *others)
        for module in (streams.core.pipeline, streams.core.conclusion):
            monkeypatch.setattr(module, "DETECTORS", detectors)
        monkeypatch.setattr(streams.core.conclusion, "_BY_NAME", {each.name: each for each in detectors})

    @staticmethod
    def ids(outcome: Scored) -> list[str]:
        return [event.fields["id"].split("/", 3)[-1] for event in outcome.events]

    def test_it_sees_records_that_are_not_scored(self) -> None:
        outcome = Stream(score_statuses=[]).run(repeated(2))[-1]
        assert block(outcome, "verdict")["level"] == "LOOP"
        assert self.ids(outcome) == ["loop_episode/opened"]

    def test_its_level_colours_the_node_when_it_is_the_source(self) -> None:
        stream = Stream(node_state_source="verdict", score_statuses=[])
        assert [outcome.node_state for outcome in stream.run(repeated(2))] == ["active", "alert_entropy"]

    def test_the_higher_level_colours_the_node_also_of_a_record_the_ratio_skips(self) -> None:
        stream = Stream(node_state_source="max")
        assert stream.run([decision_log(None)] * 2)[-1].node_state == "alert_entropy"

    def test_alerts_quote_it(self) -> None:
        (alert,) = told(Stream().run(repeated(5))[-1], "entropy_alert")
        assert (alert["verdict_level"], alert["episode_id"]) == ("LOOP", "episode")

    def test_its_events_stand_behind_the_alert(self) -> None:
        stream = Stream(entropy_loop_threshold=0.6, entropy_warning_threshold=0.6)
        assert self.ids(stream.run(repeated(2))[-1])[:2] == ["entropy_alert", "loop_episode/opened"]

    def test_what_it_leaves_open_is_closed_before_the_next_session_begins(self) -> None:
        stream = Stream()
        stream.run(repeated(3))
        outcome = stream.scored(decision_log(at_ms=2 * DAY_MS))
        assert self.ids(outcome) == ["loop_episode/recovered", "node_state/active"]
        assert block(outcome, "verdict")["level"] == "NORMAL"

    def test_what_it_leaves_open_is_closed_after_the_last_record(self) -> None:
        stream = Stream()
        stream.run(repeated(3))
        ids = self.ids(stream.scored(decision_log(terminal=True)))
        assert ids == ["node_state/blocked", "loop_episode/recovered", "node_state/idle"]

    def test_what_it_leaves_open_is_closed_by_housekeeping(self) -> None:
        stream = Stream()
        stream.run(repeated(3))
        events = expire("s1", stream.sessions["s1"], DEFAULTS).events
        assert [event.fields["id"] for event in events] == [
            "s1/0/2/loop_episode/recovered/expired",
            "s1/0/2/node_state/active/expired",
        ]


def test_a_step_leaves_the_session_it_was_given_as_it_was() -> None:
    stream = Stream()
    stream.run(repeated(4))
    before = stream.sessions["s1"]
    snapshot = before.snapshot()
    decision = admit(stream.record(decision_log(number=4)), DEFAULTS)
    assert isinstance(decision, Decision)
    first, second = step(before, decision, DEFAULTS), step(before, decision, DEFAULTS)
    assert before.snapshot() == snapshot
    assert first == second
