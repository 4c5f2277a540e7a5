"""FRD-009, requirement by requirement: what must happen, and what must not."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import grimp
import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.level import COLORS, NodeState
from streams.core.domain.outcome import Rejected
from streams.core.domain.text.digest import digest
from streams.core.domain.topic import Topic
from streams.core.pipeline import admit, step
from tests.stream import Stream, block, decision_log, repeated, told

STORE = "streams.worker.state.store"


@cache
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("streams", "schemas", "topics", include_external_packages=True)


def source_of(module: str) -> str:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


def scores(outcomes: list[Any]) -> list[float]:
    return [block(outcome, "uniqueness")["score"] for outcome in outcomes]


def severities(outcomes: list[Any]) -> list[str]:
    return [block(outcome, "uniqueness")["severity"] for outcome in outcomes]


def others(count: int, *, start: int) -> list[dict[str, Any]]:
    """Decisions that differ from one another and from every other one."""
    return [
        decision_log(f"intent {number}", f"tool_{number}", "success", number=number)
        for number in range(start, start + count)
    ]


@pytest.fixture
def stream() -> Stream:
    return Stream()


class TestFR91SingleOwnerOfWindowState:
    """One module computes the windows, one module writes them down."""

    def test_a_recorded_decision_gives_a_score_and_the_next_state(self) -> None:
        stream = Stream()
        decision = admit(stream.record(decision_log()), DEFAULTS)
        assert not isinstance(decision, Rejected)
        session, outcome = step(None, decision, DEFAULTS)
        assert block(outcome, "uniqueness")["score"] == 1.0
        assert session.states["uniqueness"]

    def test_state_survives_from_record_to_record(self, stream: Stream) -> None:
        assert scores(stream.run(repeated(3))) == [1.0, 0.5, 0.3333]

    def test_one_package_reaches_the_database(self) -> None:
        importers = imports().find_modules_that_directly_import("rocksdict")
        assert importers
        assert all(importer.startswith(f"{STORE}.") for importer in importers)

    def test_only_the_table_and_its_recovery_write_to_it(self) -> None:
        writers = {
            importer
            for importer in imports().find_modules_that_directly_import(STORE)
            for detail in imports().get_import_details(importer=importer, imported=STORE)
            if "PartitionStores" in detail["line_contents"]
        }
        # The recovery: of what is processed here, of what stands by, and the note which topic it is from.
        recovery = {f"streams.worker.state.{name}" for name in ("restore", "standby", "origin")}
        # What Faust sees of the table: `streams.worker.state.table` only reads.
        table = {"streams.worker.state.table"}
        assert writers == table | recovery

    def test_only_the_engine_knows_the_table(self) -> None:
        importers = imports().find_modules_that_directly_import("streams.worker.state.table")
        assert importers
        assert all(name.startswith("streams.worker.") for name in importers)

    def test_only_the_pipeline_runs_the_detectors(self) -> None:
        detectors = imports().find_descendants("streams.core.detectors") - {"streams.core.detectors.detector"}
        importers = {
            importer
            for detector in detectors
            for importer in imports().find_modules_that_directly_import(detector)
            if not importer.startswith("streams.core.detectors.")
        }
        # Others read states and words of the detectors; to show one a record is another matter.
        assert {name for name in importers if ".observe(" in source_of(name)} == {"streams.core.pipeline"}


class TestFR92SlidingWindow:
    def test_the_sixth_decision_evicts_the_first(self, stream: Stream) -> None:
        outcomes = stream.run(repeated(5) + others(1, start=5))
        assert block(outcomes[4], "uniqueness")["unique_count"] == 1
        assert block(outcomes[5], "uniqueness")["window_size"] == 5
        assert scores(outcomes)[5] == 0.4

    def test_eviction_is_first_in_first_out(self, stream: Stream) -> None:
        outcomes = stream.run(others(1, start=0) + repeated(5))
        assert scores(outcomes)[4:] == [0.4, 0.2]

    def test_the_window_belongs_to_one_session(self, stream: Stream) -> None:
        mixed = [
            decision_log(number=number, session=session) for number in range(3) for session in ("s1", "s2")
        ]
        assert scores(stream.run(mixed)) == [1.0, 1.0, 0.5, 0.5, 0.3333, 0.3333]

    def test_a_partial_window_is_scored_over_what_it_has(self, stream: Stream) -> None:
        outcomes = stream.run(repeated(2) + others(1, start=2))
        assert [block(outcome, "uniqueness")["window_size"] for outcome in outcomes] == [1, 2, 3]
        assert scores(outcomes) == [1.0, 0.5, 0.6667]


class TestFR93UniquenessRatio:
    def test_five_equal_decisions_give_0_2(self, stream: Stream) -> None:
        assert scores(stream.run(repeated(5)))[-1] == 0.2

    def test_five_different_decisions_give_1_0_and_no_alert(self, stream: Stream) -> None:
        outcomes = stream.run(others(5, start=0))
        assert scores(outcomes) == [1.0] * 5
        assert not any(outcome.events for outcome in outcomes)

    @pytest.mark.parametrize(
        "different",
        [{"intent": "Search"}, {"intent": "search "}, {"tool": "grep"}, {"status": "success"}],
        ids=["case", "space", "tool", "status"],
    )
    def test_equality_is_exact_over_all_three_parts(self, stream: Stream, different: dict[str, str]) -> None:
        assert scores(stream.run([decision_log(), decision_log(**different)])) == [1.0, 1.0]

    def test_nothing_else_takes_part(self, stream: Stream) -> None:
        other = decision_log(agent="agent-2", tool_input='{"a":1}', error="boom")
        assert scores(stream.run([decision_log(), other])) == [1.0, 0.5]

    def test_the_ratio_has_four_decimals(self) -> None:
        assert scores(Stream(entropy_window_size=32).run(repeated(32)))[-2:] == [0.0323, 0.0312]


class TestFR94Loop:
    def test_a_loop_alerts_broadcasts_and_reports_its_severity_in_one_step(self, stream: Stream) -> None:
        outcome = stream.run(repeated(5))[-1]
        assert [event.topic for event in outcome.events] == [Topic.ENTROPY_ALERTS, Topic.TOPOLOGY]
        assert told(outcome, "node_state")[0]["state"] == "alert_entropy"
        assert block(outcome, "uniqueness")["severity"] == "LOOP"

    def test_every_loop_record_alerts(self, stream: Stream) -> None:
        alerts = [told(outcome, "entropy_alert") for outcome in stream.run(repeated(7))]
        assert [len(alert) for alert in alerts] == [0, 0, 0, 0, 1, 1, 1]

    def test_a_second_loop_alerts_anew(self, stream: Stream) -> None:
        outcomes = stream.run(repeated(5) + others(5, start=5) + repeated(5))
        reasons = [alert["reason"] for outcome in outcomes for alert in told(outcome, "entropy_alert")]
        assert reasons == ["entered", "entered"]

    def test_exactly_0_25_is_a_warning_without_alert(self, stream: Stream) -> None:
        outcome = stream.run(repeated(4))[-1]
        assert block(outcome, "uniqueness")["score"] == 0.25
        assert block(outcome, "uniqueness")["severity"] == "WARNING"
        assert told(outcome, "entropy_alert") == []


class TestFR95Warning:
    def test_a_warning_blocks_the_node_in_amber(self, stream: Stream) -> None:
        outcome = stream.run(repeated(3))[-1]
        (node,) = told(outcome, "node_state")
        assert (node["state"], node["color"]) == ("blocked", "#f59e0b")
        assert outcome.node_state == "blocked"

    def test_every_warning_record_is_broadcast(self, stream: Stream) -> None:
        nodes = [told(outcome, "node_state") for outcome in stream.run(repeated(4))]
        assert [[node["previous_state"] for node in told_] for told_ in nodes] == [
            [],
            [],
            ["active"],
            ["blocked"],
        ]

    def test_a_warning_does_not_alert(self, stream: Stream) -> None:
        outcomes = stream.run(repeated(4))
        assert severities(outcomes)[2:] == ["WARNING", "WARNING"]
        assert not any(told(outcome, "entropy_alert") for outcome in outcomes)

    def test_a_warning_does_not_suppress_the_loop_after_it(self, stream: Stream) -> None:
        outcomes = stream.run(repeated(5))
        assert severities(outcomes)[3:] == ["WARNING", "LOOP"]
        assert told(outcomes[-1], "entropy_alert")


class TestFR96Normal:
    def test_a_normal_session_is_left_alone(self, stream: Stream) -> None:
        outcomes = stream.run(others(8, start=0))
        assert severities(outcomes) == ["NORMAL"] * 8
        assert not any(outcome.events for outcome in outcomes)

    def test_recovery_resets_the_node_once(self, stream: Stream) -> None:
        outcomes = stream.run(repeated(5) + others(5, start=5))
        resets = [
            at
            for at, outcome in enumerate(outcomes, start=1)
            for node in told(outcome, "node_state")
            if node["state"] == "active"
        ]
        assert resets == [7]
        assert outcomes[-1].node_state == "active"

    def test_exactly_0_50_is_normal(self, stream: Stream) -> None:
        outcome = stream.run(repeated(2))[-1]
        assert block(outcome, "uniqueness")["score"] == 0.5
        assert severities([outcome]) == ["NORMAL"]
        assert not told(outcome, "entropy_alert")
        assert not told(outcome, "node_state")


class TestFR97AlertFields:
    def test_an_alert_has_exactly_these_fields(self, stream: Stream) -> None:
        (alert,) = told(stream.run(repeated(5))[-1], "entropy_alert")
        assert alert == {
            "id": "s1/0/4/entropy_alert",
            "event_type": "entropy_alert",
            "session_id": "s1",
            "agent_id": "agent-1",
            "event_id": "s1-e4",
            "timestamp": 1_700_000_004_000,
            "partition": 0,
            "offset": 4,
            "entropy_score": 0.2,
            "window_size": 5,
            "repeated_pattern": {
                "intent": "search",
                "tool_call": "read_file",
                "action_status": "failure",
            },
            "occurrence_count": 5,
            "verdict_level": "LOOP",
            "episode_id": digest("s1|0|2"),
            "reason": "entered",
        }

    def test_of_equally_frequent_patterns_the_newest_is_named(self) -> None:
        pair = [decision_log("search"), decision_log("plan")]
        outcomes = Stream(entropy_window_size=10).run(pair * 5)
        named = [told(outcome, "entropy_alert")[0]["repeated_pattern"]["intent"] for outcome in outcomes[8:]]
        assert named == ["search", "plan"]

    def test_a_missing_tool_is_written_as_empty_text(self, stream: Stream) -> None:
        (alert,) = told(stream.run(repeated(5, tool=None))[-1], "entropy_alert")
        assert alert["repeated_pattern"]["tool_call"] == ""

    @pytest.mark.parametrize("agent", ["", "  "], ids=["empty", "spaces"])
    def test_without_an_agent_nothing_is_told_but_a_violation(self, stream: Stream, agent: str) -> None:
        outcomes = stream.run(repeated(5, agent=agent))
        assert severities(outcomes)[-1] == "LOOP"
        assert block(outcomes[-1], "scoring_status") == "failed:missing_agent_id"
        assert outcomes[-1].violations == ("missing_agent_id",)
        assert not any(
            told(outcome, kind) for outcome in outcomes for kind in ("entropy_alert", "node_state")
        )

    def test_the_entry_alert_waits_for_an_agent(self, stream: Stream) -> None:
        stream.run(repeated(5, agent=""))
        (alert,) = told(stream.scored(decision_log(number=5)), "entropy_alert")
        assert alert["reason"] == "entered"


class TestFR98AuthoritativeScore:
    @staticmethod
    def reporting(score: float, **fields: Any) -> dict[str, Any]:
        value = decision_log(**fields)
        value["cognition"]["entropy_score"] = score
        return value

    def test_the_reported_score_is_replaced_and_kept_nowhere(self, stream: Stream) -> None:
        outcome = stream.scored(self.reporting(0.123456))
        assert outcome.enriched["cognition"]["entropy_score"] == 1.0
        assert "0.123456" not in repr(outcome.enriched)

    def test_a_score_is_added_when_none_was_reported(self, stream: Stream) -> None:
        assert stream.scored(decision_log()).enriched["cognition"]["entropy_score"] == 1.0

    def test_the_record_that_came_in_is_not_changed(self, stream: Stream) -> None:
        value = self.reporting(0.9)
        stream.scored(value)
        assert value == self.reporting(0.9)

    def test_a_failed_scoring_keeps_the_reported_score(self, stream: Stream) -> None:
        outcome = stream.scored(self.reporting(0.9, agent=""))
        assert outcome.enriched["cognition"]["entropy_score"] == 0.9

    def test_a_record_that_is_not_scored_keeps_the_reported_score(self) -> None:
        outcome = Stream(score_statuses=["success"]).scored(self.reporting(0.9))
        assert block(outcome, "scoring_status") == "skipped:status"
        assert outcome.enriched["cognition"]["entropy_score"] == 0.9


class TestFR99OnlyValidRecords:
    def test_a_valid_record_is_scored_in_the_same_call(self, stream: Stream) -> None:
        outcome = stream.scored(decision_log("plan", "write_file", "success"))
        assert block(outcome, "scoring_status") == "ok"
        assert severities([outcome]) == ["NORMAL"]

    def test_an_invalid_record_does_not_touch_the_window(self, stream: Stream) -> None:
        stream.run(repeated(2))
        before = stream.sessions["s1"]
        invalid = decision_log(number=2)
        del invalid["action"]["status"]
        assert stream.send(invalid) == Rejected(("action.status",))
        assert stream.sessions["s1"] is before
        assert scores([stream.scored(decision_log(number=3))]) == [0.3333]


class TestFR911RunTimeSettings:
    def test_a_loop_threshold_of_0_30_makes_a_loop_of_0_25(self, stream: Stream) -> None:
        stream.set(entropy_loop_threshold=0.3)
        assert severities(stream.run(repeated(4)))[-1] == "LOOP"

    def test_a_change_takes_effect_on_the_next_record(self, stream: Stream) -> None:
        stream.run(repeated(3))
        stream.set(entropy_loop_threshold=0.5, entropy_warning_threshold=0.5)
        outcome = stream.scored(decision_log(number=3))
        assert severities([outcome]) == ["LOOP"]
        assert block(outcome, "settings_version") == 1

    def test_a_smaller_window_keeps_the_newest(self, stream: Stream) -> None:
        stream.run(repeated(5))
        stream.set(entropy_window_size=3)
        assert scores(stream.run(others(1, start=5))) == [0.6667]

    def test_a_greater_window_restores_nothing(self) -> None:
        stream = Stream(entropy_window_size=3)
        stream.run(repeated(5))
        stream.set(entropy_window_size=5)
        assert [block(outcome, "uniqueness")["window_size"] for outcome in stream.run(repeated(3))] == [
            4,
            5,
            5,
        ]

    @pytest.mark.parametrize("value", ["high", True, None, -0.1, 1.5], ids=repr)
    def test_an_invalid_value_falls_back_with_a_warning(self, value: object) -> None:
        stream = Stream(entropy_loop_threshold=value)
        assert [warning.setting for warning in stream.warnings] == ["entropy_loop_threshold"]
        assert severities(stream.run(repeated(5))) == ["NORMAL", "NORMAL", "WARNING", "WARNING", "LOOP"]

    def test_an_invalid_value_at_run_time_keeps_the_last_good_one(self, stream: Stream) -> None:
        stream.set(entropy_loop_threshold=0.3)
        stream.set(entropy_loop_threshold="high")
        assert severities(stream.run(repeated(4)))[-1] == "LOOP"


def test_every_node_state_has_the_colour_of_the_requirements() -> None:
    assert {
        NodeState.IDLE: "#6b7280",
        NodeState.ACTIVE: "#3b82f6",
        NodeState.BLOCKED: "#f59e0b",
        NodeState.ALERT_ENTROPY: "#ef4444",
    } == COLORS
