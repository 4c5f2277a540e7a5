"""Where a session stands: what each rule has counted, and of how many."""

import json
from typing import Any

import pytest

from streams.core.policy.standing import standing
from tests.quoted_detectors import is_quoted
from tests.stream import Stream, decision_log, repeated


def after(values: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    stream = Stream(**changes)
    stream.run(values)
    found = standing(stream.sessions["s1"], stream.settings)
    assert json.loads(json.dumps(found)) == found
    return found


def counted(found: dict[str, Any]) -> dict[str, tuple[float, float, float | None]]:
    return {
        f"{rule['rule']}/{rule['period']}" if rule["rule"] == "R2" else rule["rule"]: (
            rule["count"],
            rule["warn"],
            rule["loop"],
        )
        for rule in found["rules"]
    }


def test_a_near_miss_shows_in_what_each_rule_has_counted() -> None:
    found = after(repeated(3, tool="bash", status="failure", error="1 failed"))
    assert {rule: figures for rule, figures in counted(found).items() if is_quoted(rule)} == {
        "R1": (3, 3, 4),
        "R2/2": (0, 2, 3),
        "R2/3": (0, 2, 3),
        "R2/4": (0, 2, 3),
        "R2/5": (0, 2, 3),
        "R7": (4.0, 3.0, 5.0),
        "R9": (0, 10, 60),
        "A2:tool": (3, 3, None),
        "A3:test_fail_loop": (3, 3, None),
        "A4:exact_hash": (3, 2, None),
        "A4:oscillation": (0, 3, None),
        "A4:dead_end": (3, 5, None),
    }
    assert (found["level"], found["episode"]["rule"]) == ("WARNING", "R1")


def test_waiting_is_counted_in_whole_minutes() -> None:
    looks = [decision_log(tool="wait", status="success", at_ms=number * 125_000) for number in range(4)]
    assert [counted(after(looks[:looked]))["R9"] for looked in (2, 3, 4)] == [
        (0, 10, 60),
        (4, 10, 60),
        (6, 10, 60),
    ]


def test_a_long_cycle_is_counted_from_its_second_time_round_on() -> None:
    steps = [
        decision_log(
            None, f"look_{number % 8}", "success", number=number, tool_output_summary=f"fact {number % 8}"
        )
        for number in range(24)
    ]
    rounds = [counted(after(steps[:taken])).get("R2/8") for taken in (8, 9, 16, 24)]
    assert rounds == [None, (0, 2, 3), (2, 2, 3), (3, 2, 3)]


def test_a_healthy_session_has_no_episode() -> None:
    found = after([decision_log(tool="search", status="success")])
    assert (found["level"], found["episode"], found["node"], found["step"]) == ("NORMAL", None, "active", 1)


def test_the_scores_are_those_of_the_last_record() -> None:
    stream = Stream()
    *_, last = stream.run(repeated(7, tool="bash", status="failure", error="1 failed"))
    eddy, found = last.enriched["eddy"], standing(stream.sessions["s1"], stream.settings)
    scores = found["scores"]
    assert scores["uniqueness"]["score"] == eddy["uniqueness"]["score"] == 0.2
    assert scores["uniqueness"]["severity"] == eddy["uniqueness"]["severity"]
    assert scores["repeat"]["run_length"] == eddy["repeat"]["run_length"]
    assert scores["patterns"]["ema"] == eddy["patterns"]["ema"]
    assert scores["patterns"]["escalated"] == eddy["patterns"]["escalated"] == ["test_fail_loop"]
    assert scores["drift"]["overall"] == eddy["drift"]["overall"]
    assert scores["drift"]["level"] == eddy["drift"]["level"]
    assert scores["budget"]["steps_budget"] == eddy["budget"]["steps_budget"]
    assert found["level"] == eddy["verdict"]["level"]
    assert found["episode"]["episode_id"] == eddy["verdict"]["episode_id"]


def test_the_velocity_is_that_of_the_last_record_however_large() -> None:
    stream = Stream()
    for number in range(3):
        value = decision_log(number=number)
        value["state_delta"] = {"progress_delta": 1e308}
        last = stream.scored(value)
    velocity = standing(stream.sessions["s1"], stream.settings)["scores"]["budget"]["velocity"]
    assert velocity == last.enriched["eddy"]["budget"]["velocity"]


def test_a_session_read_back_from_storage_stands_the_same() -> None:
    stream = Stream()
    stream.run(repeated(4, tool="bash", status="failure", error="1 failed"))
    session = stream.sessions["s1"]
    stored = session.restore(json.loads(json.dumps(session.snapshot())))
    assert standing(stored, stream.settings) == standing(session, stream.settings)


def test_of_an_ended_session_the_position_is_left() -> None:
    found = after([decision_log(terminal=True)])
    assert found == {"partition": 0, "offset": 0, "ended": True, "settings_version": 0}


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({"verdict_enabled": False}, {"R1", "R2/2", "R7", "R9"}),
        ({"verdict_rules": ["R7"]}, {"R1", "R2/2", "R9"}),
        ({"cycle_max_period": 3}, {"R2/4", "R2/5"}),
        ({"enable_all_strategies": False}, {"A4:oscillation", "A4:dead_end"}),
    ],
)
def test_what_is_switched_off_is_left_out(changes: dict[str, Any], gone: set[str]) -> None:
    assert not gone & counted(after(repeated(2), **changes)).keys()
    assert gone <= counted(after(repeated(2))).keys()
