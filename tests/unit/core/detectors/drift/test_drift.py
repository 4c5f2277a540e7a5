"""A5: the five signals, what they add up to, and what is told of it."""

from typing import Any

import orjson
import pytest

from streams.core.domain.topic import Topic
from tests.stream import START_MS, Stream, block, decision_log, told

GOAL = "Fix login bug in auth module"


def record(
    intent: str = "", status: str = "success", goal: str | None = None, **fields: Any
) -> dict[str, Any]:
    """A record without a tool; `progress`, `quality` and `memory` go to its state_delta."""
    names = {"progress": "progress_delta", "quality": "context_quality", "memory": "added_to_memory"}
    delta = {name: fields.pop(short) for short, name in names.items() if short in fields}
    value = {**decision_log(intent, fields.pop("tool", None), status, **fields), "state_delta": delta}
    value["cognition"]["goal"] = goal
    return value


def drifts(values: list[dict[str, Any]], stream: Stream | None = None, **changes: Any) -> list[Any]:
    """The block `drift` of each record."""
    return [block(outcome, "drift") for outcome in (stream or Stream(**changes)).run(values)]


def signals(name: str, values: list[dict[str, Any]], **changes: Any) -> list[float | None]:
    return [drift["signals"][name] for drift in drifts(values, **changes)]


def falling_apart() -> list[dict[str, Any]]:
    """Five failures that never speak of the goal, while the context gets worse and worse."""
    return [
        record(f"z{at} y{at}", "failure", "paint fence", error=f"x{at}", progress=0.0, quality=1 - at / 4)
        for at in range(5)
    ]


def test_what_is_reported_of_a_record() -> None:
    assert drifts(falling_apart())[4] == {
        "signals": {
            "goal_dna_drift": 1.0,
            "loop_risk": 0.8,
            "budget_velocity": 1.0,
            "quality_degradation": 1.0,
            "stuck_time": 0.25,
        },
        "overall": 0.9125,
        "level": "ASK_USER",
        "trend": {"velocity": 0.1067, "is_accelerating": True},
        "trend_level": "ASK_USER",
    }


def test_a_record_that_tells_nothing_has_no_drift() -> None:
    assert drifts([record("work")]) == [
        {
            "signals": {
                "goal_dna_drift": None,
                "loop_risk": 0.0,
                "budget_velocity": None,
                "quality_degradation": None,
                "stuck_time": 0.0,
            },
            "overall": 0.0,
            "level": "CONTINUE",
            "trend": {"velocity": None, "is_accelerating": False},
            "trend_level": "CONTINUE",
        }
    ]


class TestSignals:
    def test_the_goal_is_spoken_of_in_four_of_five_words(self) -> None:
        one = record("fix the login bug", goal=GOAL, tool="read_file", tool_input='{"path":"auth.py"}')
        (drift,) = drifts([one])
        assert (drift["signals"]["goal_dna_drift"], drift["overall"]) == (0.2, 0.07)

    def test_the_risk_of_a_loop_is_how_sure_the_loop_detector_is(self) -> None:
        same = record("work", tool="ls", tool_output_summary="file1.txt file2.txt")
        found = drifts([same, same])
        assert [drift["signals"]["loop_risk"] for drift in found] == [0.0, 1.0]
        assert [drift["overall"] for drift in found] == [0.0, 0.2525]

    @pytest.mark.parametrize(
        ("progress", "shortfall"), [(0.5, 0.0), (0.01, 0.0), (0.005, 0.5), (0, 1.0), (-3, 1.0)]
    )
    def test_only_progress_that_is_too_slow_counts(self, progress: float, shortfall: float) -> None:
        assert signals("budget_velocity", [record(progress=progress)]) == [shortfall]

    def test_without_progress_the_velocity_stays_as_it_was(self) -> None:
        assert signals("budget_velocity", [record(), record(progress=0.005), record()]) == [None, 0.5, 0.5]

    def test_the_context_is_compared_with_its_best(self) -> None:
        values = [record(quality=quality) for quality in (0.7, 0.9, 0.6)]
        assert signals("quality_degradation", [record(), *values, record()]) == [None, 0.0, 0.0, 0.3, 0.3]

    def test_a_loss_of_more_than_everything_is_everything(self) -> None:
        values = [record(quality=quality) for quality in (1e308, -1e308)]
        assert signals("quality_degradation", values) == [0.0, 1.0]

    def test_every_record_in_a_row_without_progress_counts_up_to_the_horizon(self) -> None:
        values = [record(f"a{at}", "failure") for at in range(5)]
        values.insert(4, record("found it", memory=["fact"]))
        assert signals("stuck_time", values, stuck_horizon=3) == [0.3333, 0.6667, 1.0, 1.0, 0.0, 0.3333]

    def test_a_record_that_is_not_scored_changes_nothing(self) -> None:
        values = [record("a", "failure"), record("b", "pending"), record("c", "failure")]
        found = drifts(values, score_statuses=["success", "failure"])
        assert found[1] is None
        assert found[2]["signals"]["stuck_time"] == 0.1


class TestTrend:
    def test_it_is_one_level_worse_when_the_drift_accelerates(self) -> None:
        weights = {
            "goal_dna_drift": 0.0,
            "loop_risk": 0.0,
            "budget_velocity": 0.0,
            "quality_degradation": 1.0,
            "stuck_time": 0.0,
        }
        values = [record(quality=quality) for quality in (1, 0.75, 0.70, 0.62, 0.5)]
        drift = drifts(values, signal_weights=weights)[4]
        assert drift["trend"] == {"velocity": 0.0833, "is_accelerating": True}
        assert (drift["level"], drift["trend_level"]) == ("SUMMARIZE_REPLAN", "CHECKPOINT_RESET")
        slow = drifts(values, signal_weights=weights, trend_velocity=0.0833)[4]
        assert slow["trend_level"] == "SUMMARIZE_REPLAN"

    def test_its_window_restores_nothing_when_it_grows(self) -> None:
        stream = Stream(trend_window=4)
        values = falling_apart()
        drifts(values[:3], stream)
        stream.set(trend_window=2)
        assert drifts(values[3:4], stream)[0]["trend"]["velocity"] == 0.04
        stream.set(trend_window=4)
        assert drifts(values[4:], stream)[0]["trend"] == {"velocity": 0.14, "is_accelerating": True}


class TestResponses:
    def test_a_new_level_is_told_with_what_makes_it_up(self) -> None:
        outcomes = Stream().run(falling_apart())
        assert [len(told(outcome, "response")) for outcome in outcomes] == [1, 0, 0, 0, 1]
        assert told(outcomes[4], "response") == [
            {
                "id": "s1/0/4/response",
                "event_type": "response",
                "session_id": "s1",
                "agent_id": "agent-1",
                "event_id": "s1-e0-4",
                "timestamp": START_MS,
                "partition": 0,
                "offset": 4,
                "level": "ASK_USER",
                "previous_level": "SUMMARIZE_REPLAN",
                "overall": 0.9125,
                "contributions": {
                    "goal_dna_drift": 0.35,
                    "loop_risk": 0.2,
                    "budget_velocity": 0.2,
                    "quality_degradation": 0.15,
                    "stuck_time": 0.0125,
                },
                "trend_level": "ASK_USER",
                "trend": {"velocity": 0.1067, "is_accelerating": True},
                "suggestion": "Ask the user for help and explain the situation.",
            }
        ]
        assert outcomes[4].events[-1].topic is Topic.SESSION_RESPONSES

    def test_coming_back_is_told_too(self) -> None:
        first, *_ = falling_apart()
        better = record("paint the fence", tool_output_summary="painted", progress=0.5, quality=1)
        outcomes = Stream().run([first, better])
        (response,) = told(outcomes[1], "response")
        assert (response["previous_level"], response["level"]) == ("SUMMARIZE_REPLAN", "CONTINUE")
        assert response["suggestion"] == "Continue normally."
        assert set(response["contributions"].values()) == {0.0}

    def test_nothing_is_told_while_there_is_nothing_to_do(self) -> None:
        outcomes = Stream().run([record("fix the login bug", goal=GOAL), record("look it up")])
        assert [told(outcome, "response") for outcome in outcomes] == [[], []]

    def test_other_thresholds_alone_can_change_the_level(self) -> None:
        stream = Stream()
        first, second, *_ = falling_apart()
        stream.scored(first)
        stream.set(replan_threshold=0.6)
        (response,) = told(stream.scored(second), "response")
        assert (response["level"], response["overall"]) == ("INJECT_REMINDER", 0.5925)

    def test_the_end_of_a_session_is_not_told_and_the_next_begins_anew(self) -> None:
        first, second, third, *_ = falling_apart()
        second["control"] = {"is_terminal": True}
        outcomes = Stream().run([first, second, third])
        assert [len(told(outcome, "response")) for outcome in outcomes] == [1, 0, 1]
        assert told(outcomes[2], "response")[0]["previous_level"] == "CONTINUE"


def test_no_text_of_a_record_is_kept() -> None:
    stream = Stream()
    stream.scored(decision_log("an intent", "a_tool", tool_input='["an argument"]', target="a_file"))
    stream.scored(record("work", goal=GOAL))
    stored = orjson.dumps([*stream.sessions["s1"].states["drift"]]).decode()
    assert not [word for word in ("intent", "tool", "argument", "file", "login") if word in stored]
