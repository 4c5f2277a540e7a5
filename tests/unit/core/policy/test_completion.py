"""When a record completes a task, and what is said of it."""

from typing import Any

import pytest

from tests.stream import Stream, block, decision_log

COMPLETED = {"task_type": "api", "steps_used": 1, "tokens_used": 7, "total_progress": 0.25}


def completing(**changes: Any) -> dict[str, Any]:
    value = decision_log(status="success", terminal=True)
    value["state_delta"] = {"tokens_consumed": 7, "progress_delta": 0.25}
    return value | {"task_type": "api"} | changes


def test_a_terminal_success_with_a_task_type_completes_a_task() -> None:
    assert block(Stream().scored(completing()), "completion") == COMPLETED


def test_a_completion_counts_the_session_and_nothing_before_it() -> None:
    stream = Stream()
    used = []
    for number in range(2):
        for _ in range(3):
            value = decision_log(number=number)
            value["state_delta"] = {"tokens_consumed": 10, "progress_delta": 0.1}
            stream.scored(value)
        used.append(block(stream.scored(completing()), "completion"))
    assert used == [{"task_type": "api", "steps_used": 4, "tokens_used": 37, "total_progress": 0.55}] * 2


@pytest.mark.parametrize("status", ["failure", "pending", "skipped"])
def test_nothing_but_a_success_completes_a_task(status: str) -> None:
    value = completing(action={"status": status})
    assert block(Stream().scored(value), "completion") is None


@pytest.mark.parametrize("task_type", ["", None])
def test_a_task_without_a_type_has_no_profile(task_type: str | None) -> None:
    assert block(Stream().scored(completing(task_type=task_type)), "completion") is None


@pytest.mark.parametrize("control", [{"is_terminal": False}, {}, None])
def test_a_record_that_goes_on_completes_nothing(control: dict[str, Any] | None) -> None:
    assert block(Stream().scored(completing(control=control)), "completion") is None


def test_profiling_can_be_turned_off() -> None:
    stream = Stream(enable_historical_profiling=False)
    assert block(stream.scored(completing()), "completion") is None


def test_a_record_that_is_not_scored_completes_nothing() -> None:
    stream = Stream(score_statuses=["failure"])
    assert block(stream.scored(completing()), "completion") is None


def test_parts_of_tokens_are_reported_to_four_decimals() -> None:
    value = completing(state_delta={"tokens_consumed": 1 / 3, "progress_delta": 1 / 3})
    completion = block(Stream().scored(value), "completion")
    assert (completion["tokens_used"], completion["total_progress"]) == (0.3333, 0.3333)
