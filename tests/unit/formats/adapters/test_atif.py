"""Trajectories in ATIF: repeated steps, heads of other agents, results without the id of their call."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from streams.formats.adapters.atif import FORMAT
from tests.unit.formats.adapters.reading import event_ids, logs, reasons

SAMPLES = Path(__file__).parents[3] / "samples"


def step(number: int, source: str = "agent", **more: Any) -> dict[str, Any]:
    return {"step_id": number, "timestamp": f"2026-11-22T10:00:{number:02}Z", "source": source, **more}


def calling(number: int, *call_ids: str, results: Any = (), **more: Any) -> dict[str, Any]:
    calls = [{"tool_call_id": each, "function_name": "bash", "arguments": {"c": each}} for each in call_ids]
    return step(number, message="", tool_calls=calls, observation={"results": list(results)}, **more)


def result(call_id: str | None, content: Any = "x", **extra: Any) -> dict[str, Any]:
    return {"source_call_id": call_id, "content": content, "extra": extra}


def trajectory(*steps: Any, **more: Any) -> dict[str, Any]:
    agent = {"name": "coder", "version": "1"}
    return {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": agent, "steps": list(steps), **more}


USAGE = {"prompt_tokens": 100, "completion_tokens": 15, "cached_tokens": 90, "cost_usd": 0.5}


def test_a_copied_step_is_no_step_and_costs_nothing() -> None:
    copied = calling(1, "a", results=[result("a")], metrics=USAGE, is_copied_context=True)
    new = calling(2, "b", results=[result("b")], metrics=USAGE)
    found = logs(FORMAT, trajectory(copied, new))
    assert event_ids(found) == ["b"]
    assert found[0]["state_delta"] == {
        "tokens_consumed": 25,
        "cumulative_session_cost": 0.5,
        "tokens_cached": 90,
    }


def test_the_head_that_codex_writes_is_taken_off_and_gives_the_status() -> None:
    heads = [
        f"Chunk ID: {n}ab\nWall time: {n} s\nProcess exited with code 1\nOutput:\nno such file\n"
        for n in "12"
    ]
    steps = [calling(n, f"c{n}", results=[result(f"c{n}", head)]) for n, head in enumerate(heads)]
    actions = [each["action"] for each in logs(FORMAT, trajectory(*steps))]
    assert [(each["status"], each["error"]) for each in actions] == [("failure", "no such file")] * 2


def test_the_flag_of_claude_is_a_failure() -> None:
    found = logs(FORMAT, trajectory(calling(1, "a", results=[result("a", tool_result_is_error=True)])))
    assert found[0]["action"]["status"] == "failure"


def test_what_codex_writes_in_the_name_of_the_user_is_no_goal() -> None:
    steps = [
        step(1, "user", message="<environment_context>\n<cwd>x</cwd></environment_context>"),
        step(2, "user", message="fix it"),
        calling(3, "a", results=[result("a")]),
    ]
    assert logs(FORMAT, trajectory(*steps))[0]["cognition"]["goal"] == "fix it"


def test_one_result_without_an_id_is_of_the_last_call_of_its_step() -> None:
    found = logs(FORMAT, trajectory(calling(1, "a", "b", results=[{"content": "screen"}])))
    assert event_ids(found) == ["a", "b"]
    assert [each["action"].get("tool_output_summary") for each in found] == [None, "screen"]


def test_a_call_without_a_result_is_reported() -> None:
    assert reasons(FORMAT, trajectory(calling(1, "a"), calling(2, "b", results=[result("z")]))) == [
        "orphan_result",
        "unanswered",
        "unanswered",
    ]


def test_words_before_a_call_in_the_next_step_end_no_turn() -> None:
    steps = [step(1, message="I look."), calling(2, "a", results=[result("a")]), step(3, message="Done.")]
    found = logs(FORMAT, trajectory(*steps))
    assert [(each["event_id"], each["cognition"]["intent"]) for each in found] == [
        ("a", "I look."),
        ("s/3", "Done."),
    ]


def test_a_sub_agent_is_a_session_of_its_own() -> None:
    side = calling(1, "a", results=[result("a")], extra={"is_sidechain": True, "agent_id": "a7"})
    inner = trajectory(calling(1, "b", results=[result("b")]), trajectory_id="t2")
    found = logs(FORMAT, trajectory(side, subagent_trajectories=[inner]))
    assert [each["session_id"] for each in found] == ["s/a7", "s/t2"]


def test_parts_of_a_message_are_joined_and_steps_without_times_follow_a_clock() -> None:
    parts = [{"type": "text", "text": "see"}, {"type": "image", "source": {"path": "a.png"}}]
    steps = [{**calling(n, f"c{n}", results=[result(f"c{n}", parts)]), "timestamp": None} for n in (1, 2)]
    found = logs(FORMAT, trajectory(*steps))
    assert found[0]["action"]["tool_output_summary"] == "see\n[image 44000964]"
    assert found[1]["meta"]["timestamp"] - found[0]["meta"]["timestamp"] == 1000


def test_a_later_version_is_recognised() -> None:
    assert FORMAT.sniff(b'{"schema_version": "ATIF-v1.8", "steps": [{"step_id": 1, "mess', "f") == 100


@pytest.mark.parametrize(
    ("converted", "own"),
    [("claude-loop.json", "claude_code/loop"), ("codex-loop.json", "codex/rollout-loop")],
)
def test_a_session_says_the_same_through_atif_and_through_its_own_log(converted: str, own: str) -> None:
    rows = (SAMPLES / f"{own}.expected.jsonl").read_bytes().splitlines()
    through_atif = logs(FORMAT, (SAMPLES / "atif" / converted).read_bytes())
    summaries = [
        (
            [
                (each["event_id"], each["action"]["status"])
                for each in found
                if each["action"]["kind"] == "tool"
            ],
            sum(each["state_delta"]["tokens_consumed"] for each in found if "state_delta" in each),
        )
        for found in (through_atif, [orjson.loads(row) for row in rows])
    ]
    assert summaries[0] == summaries[1]


def test_calls_of_one_step_are_one_round_and_keep_their_order() -> None:
    steps = [calling(1, "a", "b", results=[result("b"), result("a")]), calling(2, "c", results=[result("c")])]
    found = logs(FORMAT, trajectory(*steps))
    assert [(each["event_id"], each["meta"]["round_id"]) for each in found] == [
        ("a", "s/1"),
        ("b", "s/1"),
        ("c", "s/2"),
    ]


def test_a_result_without_an_id_goes_to_no_call_that_has_its_own() -> None:
    steps = trajectory(calling(1, "a", "b", results=[result("b", "of b"), {"content": "of a"}]))
    found = logs(FORMAT, steps)
    assert [each["action"]["tool_output_summary"] for each in found] == ["of a", "of b"]
    assert reasons(FORMAT, steps) == []
