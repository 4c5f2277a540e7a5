"""A4: what each of the four detectors sees, and which one is believed."""

from typing import Any

import orjson
import pytest

from tests.stream import Stream, block, decision_log


def step(intent: str, **fields: Any) -> dict[str, Any]:
    """A step without a tool. `progress` and `memory` are what its state_delta says."""
    delta = {"progress_delta": fields.pop("progress", None), "added_to_memory": fields.pop("memory", [])}
    return {**decision_log(intent, None, fields.pop("status", "success"), **fields), "state_delta": delta}


def loops(values: list[dict[str, Any]], stream: Stream | None = None, **changes: Any) -> list[dict[str, Any]]:
    """The block `loop` of each record."""
    return [block(outcome, "loop") for outcome in (stream or Stream(**changes)).run(values)]


def alternately(count: int) -> list[dict[str, Any]]:
    return [step(f"Approach {'AB'[at % 2]}", tool_output_summary=f"{at} came out") for at in range(count)]


def failing(count: int) -> list[dict[str, Any]]:
    return [step(f"Try approach {at}", status="failure", error="Failed", progress=0.0) for at in range(count)]


class TestTheSeed:
    def test_two_identical_steps_are_a_loop_for_certain(self) -> None:
        same = step("Read file config.py", tool_output_summary="File not found")
        assert loops([same, same])[1] == {
            "type": "exact_hash",
            "confidence": 1.0,
            "detected": True,
            "steps": [1, 2],
            "suggestion": (
                "The same call has been repeated with identical results. Try a different approach."
            ),
            "break_recommended": True,
            "all_detections": {
                "exact_hash": {"confidence": 1.0, "steps": [1, 2]},
                "semantic": {"confidence": 1.0, "steps": [1, 2]},
                "oscillation": None,
                "dead_end": None,
            },
        }

    def test_a_first_step_is_no_loop(self) -> None:
        assert loops([step("Read file config.py")]) == [
            {
                "type": None,
                "confidence": 0.0,
                "detected": False,
                "steps": [],
                "suggestion": None,
                "break_recommended": False,
                "all_detections": dict.fromkeys(("exact_hash", "semantic", "oscillation", "dead_end")),
            }
        ]

    @pytest.mark.parametrize(
        ("threshold", "type_", "confidence"), [(0.85, None, 0.0), (0.5556, "semantic", 0.5556)]
    )
    def test_other_words_for_the_same_step_share_5_of_9(
        self, threshold: float, type_: str | None, confidence: float
    ) -> None:
        values = [
            step("Analyzing the configuration file", tool_output_summary="Found 3 issues"),
            step("Still analyzing configuration file", tool_output_summary="Found 3 problems"),
        ]
        found = loops(values, semantic_threshold=threshold)[1]
        assert (found["type"], found["confidence"]) == (type_, confidence)

    def test_three_complete_turns_of_two_approaches_oscillate_whatever_comes_out(self) -> None:
        found = loops(alternately(6))
        assert [each["type"] for each in found] == [None] * 5 + ["oscillation"]
        assert found[5]["all_detections"]["oscillation"] == {
            "confidence": 0.95,
            "steps": [1, 2, 3, 4, 5, 6],
            "cycles": 3,
        }
        assert found[5]["suggestion"] == "Two steps alternate. Decide on one, or change both."
        assert found[5]["break_recommended"] is True

    @pytest.mark.parametrize(("changes", "first"), [({}, 5), ({"dead_end_threshold": 3}, 3)])
    def test_steps_without_progress_are_a_dead_end(self, changes: dict[str, Any], first: int) -> None:
        found = loops(failing(6), **changes)
        assert [each["type"] for each in found] == [None] * (first - 1) + ["dead_end"] * (7 - first)
        assert [each["steps"] for each in found[-1:]] == [[*range(7 - first, 7)]]
        assert found[-1]["confidence"] == 0.8
        assert found[-1]["suggestion"].startswith("No progress for several steps.")
        assert found[-1]["break_recommended"] is False

    def test_the_most_confident_detector_wins_and_all_are_reported(self) -> None:
        words = "alpha beta gamma delta epsilon zeta eta theta"
        values = [step(words + " iota" * (at % 2), status="failure", progress=0.0) for at in range(5)]
        found = loops(values)[4]
        assert (found["type"], found["confidence"]) == ("semantic", 0.8889)
        assert found["suggestion"] == (
            "Very similar steps are being repeated. Change the approach, not the wording."
        )
        assert found["all_detections"] == {
            "exact_hash": None,
            "semantic": {"confidence": 0.8889, "steps": [4, 5]},
            "oscillation": None,
            "dead_end": {"confidence": 0.8, "steps": [1, 2, 3, 4, 5]},
        }

    def test_with_the_other_strategies_off_only_equal_steps_count(self) -> None:
        found = loops([*failing(6), *failing(1), *failing(1)], enable_all_strategies=False)
        assert [each["type"] for each in found] == [None] * 7 + ["exact_hash"]
        assert found[7]["all_detections"]["semantic"] is None


class TestExactHash:
    @pytest.mark.parametrize(
        "other",
        [{"tool_output_summary": "other"}, {"status": "failure"}, {"tool_input": "[1]"}, {"tool": "ls"}],
    )
    def test_call_status_and_result_must_be_equal(self, other: dict[str, Any]) -> None:
        one = {"tool": "cat", "status": "success", "tool_output_summary": "same", "tool_input": "[2]"}
        found = loops([decision_log(**one), decision_log(**{**one, **other})])
        assert found[1]["all_detections"]["exact_hash"] is None

    def test_nothing_may_stand_between(self) -> None:
        one, other = step("read", tool_output_summary="a"), step("write", tool_output_summary="b")
        assert [each["type"] for each in loops([one, other, one])] == [None] * 3

    def test_it_reports_the_run_as_far_as_the_window_goes(self) -> None:
        found = loops([step("again")] * 12)
        assert found[11]["steps"] == [*range(3, 13)]


class TestSemantic:
    def test_only_the_step_just_before_counts(self) -> None:
        one, other = step("alpha beta gamma"), step("delta")
        assert [each["type"] for each in loops([one, other, one])] == [None] * 3

    def test_the_words_come_from_intent_tool_arguments_and_result(self) -> None:
        one = decision_log("alpha", "beta", "success", tool_input='["gamma"]', tool_output_summary="delta")
        assert loops([one, step("Delta, GAMMA: beta_alpha")])[1]["confidence"] == 1.0

    def test_steps_without_words_have_nothing_in_common(self) -> None:
        values = [step("!", status="success"), step("?", status="failure")]
        assert loops(values, semantic_threshold=0.0001)[1]["type"] is None

    def test_the_threshold_may_be_reached_by_rounding(self) -> None:
        values = [step("a b"), step("a b c")]
        assert loops(values, semantic_threshold=0.6667)[1]["confidence"] == 0.6667
        assert loops(values, semantic_threshold=0.6668)[1]["type"] is None


class TestOscillation:
    def test_the_same_action_twice_begins_anew(self) -> None:
        a, b = alternately(2)
        found = loops([a, b, a, b, b, a, b, a, b])
        assert [each["all_detections"]["oscillation"] for each in found] == [None] * 9

    def test_a_third_action_begins_anew(self) -> None:
        a, b = alternately(2)
        found = loops([a, b, a, b, a, step("Approach C"), a, b, a, b, a, b])
        assert [each["all_detections"]["oscillation"] is not None for each in found] == [False] * 11 + [True]
        assert found[11]["steps"] == [7, 8, 9, 10, 11, 12]

    def test_one_action_over_and_over_does_not_oscillate(self) -> None:
        values = [step("again", tool_output_summary=str(at)) for at in range(10)]
        assert all(each["all_detections"]["oscillation"] is None for each in loops(values))

    def test_an_odd_step_is_reported_but_makes_no_cycle(self) -> None:
        found = loops(alternately(7))[6]["all_detections"]["oscillation"]
        assert (found["cycles"], found["steps"]) == (3, [*range(1, 8)])


class TestDeadEnd:
    def test_progress_begins_anew(self) -> None:
        values = failing(9)
        values[4]["state_delta"]["progress_delta"] = 0.1
        assert all(each["type"] is None for each in loops(values))

    def test_what_is_remembered_is_progress(self) -> None:
        values = [step(f"m{at} x{at}", status="failure", memory=["fact"]) for at in range(6)]
        assert all(each["type"] is None for each in loops(values))

    def test_success_without_a_result_is_not_stuck(self) -> None:
        assert all(each["type"] is None for each in loops([step(f"m{at} x{at}") for at in range(9)]))

    def test_an_equal_result_is_no_progress_from_the_second_on(self) -> None:
        values = [step(f"m{at} x{at} y{at}", tool_output_summary="same") for at in range(6)]
        assert [each["type"] for each in loops(values)] == [None] * 5 + ["dead_end"]


class TestTheWindow:
    def test_what_does_not_fit_in_it_is_never_detected(self) -> None:
        assert all(each["type"] is None for each in loops(failing(9), loop_window_size=4))

    def test_it_shrinks_to_the_newest_and_restores_nothing_when_it_grows(self) -> None:
        stream = Stream()
        loops(failing(8), stream)
        stream.set(loop_window_size=3)
        assert loops(failing(1), stream)[0]["type"] is None
        stream.set(loop_window_size=10)
        found = [each["all_detections"]["dead_end"] for each in loops(failing(3), stream)]
        assert [each and each["steps"] for each in found] == [None, [7, 8, 9, 10, 11], [8, 9, 10, 11, 12]]

    def test_a_step_that_is_not_scored_is_not_seen(self) -> None:
        stream = Stream(score_statuses=["success"])
        found = loops([step("again"), step("else", status="pending"), step("again")], stream)
        assert found[1] is None
        assert found[2]["steps"] == [1, 2]


def test_no_text_of_a_record_is_kept() -> None:
    stream = Stream()
    stream.scored(decision_log("an intent", "a_tool", tool_input='["an argument"]', error="a result"))
    stored = orjson.dumps([*stream.sessions["s1"].states["loop"]]).decode()
    assert not [word for word in ("intent", "tool", "argument", "result") if word in stored]
