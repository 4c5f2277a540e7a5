"""When a record completes a task, and what is said of it."""

from typing import Any

import pytest

from streams.core.conclusion import is_emitted, node_after, node_finding
from streams.core.domain.level import Level, NodeState
from streams.core.domain.settings.general import NodeStateSource
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


N, W, L = Level
ACTIVE, BLOCKED, ALERT = NodeState.ACTIVE, NodeState.BLOCKED, NodeState.ALERT_ENTROPY
UNIQUENESS, VERDICT, HIGHER = NodeStateSource


@pytest.mark.parametrize(
    ("source", "severity", "verdict", "state"),
    [
        (UNIQUENESS, N, L, ACTIVE),
        (UNIQUENESS, W, N, BLOCKED),
        (UNIQUENESS, L, N, ALERT),
        (VERDICT, L, N, ACTIVE),
        (VERDICT, N, W, BLOCKED),
        (VERDICT, N, L, ALERT),
        (HIGHER, W, L, ALERT),
        (HIGHER, L, W, ALERT),
        (HIGHER, W, N, BLOCKED),
        (HIGHER, N, N, ACTIVE),
    ],
)
def test_the_source_gives_the_state(
    source: NodeStateSource, severity: Level, verdict: Level, state: NodeState
) -> None:
    assert node_after(BLOCKED, source, severity, verdict, scored=True, judged=True) is state


@pytest.mark.parametrize(
    ("source", "scored", "judged", "counts"),
    [
        (UNIQUENESS, False, True, False),
        (UNIQUENESS, True, False, True),
        (VERDICT, True, False, False),
        (VERDICT, False, True, True),
        (HIGHER, True, False, True),
        (HIGHER, False, True, True),
        (HIGHER, False, False, False),
    ],
)
def test_a_record_the_source_did_not_look_at_changes_nothing(
    source: NodeStateSource, scored: bool, judged: bool, counts: bool
) -> None:
    assert node_after(BLOCKED, source, L, L, scored, judged) is (ALERT if counts else BLOCKED)


@pytest.mark.parametrize(
    ("node", "before", "every_record", "told"),
    [
        (BLOCKED, ACTIVE, False, True),
        (ACTIVE, BLOCKED, False, True),
        (BLOCKED, BLOCKED, False, False),
        (BLOCKED, BLOCKED, True, True),
        (ALERT, ALERT, True, True),
        (ACTIVE, ACTIVE, True, False),
    ],
)
def test_a_change_is_told_and_on_request_trouble_that_lasts(
    node: NodeState, before: NodeState, every_record: bool, told: bool
) -> None:
    assert is_emitted(node, before, every_record) is told


def test_what_is_told_of_a_node() -> None:
    finding = node_finding("s1", ALERT, BLOCKED)
    assert finding.fields["state"] == "alert_entropy"
    assert finding.fields == {
        "node_id": "s1",
        "state": "alert_entropy",
        "previous_state": "blocked",
        "color": "#ef4444",
    }
