"""Trajectories of mini-swe-agent: calls of three kinds, ends of two, and results that differ in shape."""

from typing import Any

import pytest

from streams.formats.adapters.mini_swe_agent import FORMAT
from tests.unit.formats.adapters.reading import event_ids, logs, reasons

START: list[Any] = [
    {"role": "system", "content": "You are"},
    {"role": "user", "content": "Please solve this"},
]
EXIT = {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted", "submission": "diff"}}


def trajectory(*messages: Any, version: str = "1.1", **info: Any) -> dict[str, Any]:
    name = f"mini-swe-agent-{version}"
    return {
        "info": {"mini_version": "2.4.6", **info},
        "messages": [*START, *messages],
        "trajectory_format": name,
    }


def called(*call_ids: str, tokens: int = 100, cost: float = 0.0) -> dict[str, Any]:
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    usage = {"prompt_tokens": tokens, "completion_tokens": 5}
    calls = [{"id": each, "type": "function", "function": function} for each in call_ids]
    extra = {"response": {"usage": usage}, "cost": cost, "timestamp": 1795377349.9}
    return {"role": "assistant", "content": None, "tool_calls": calls, "extra": extra}


def answered(call_id: str, code: int = 0, **extra: Any) -> dict[str, Any]:
    given = {"raw_output": "x\n", "returncode": code, "timestamp": 1795377350.1025605, "exception_info": ""}
    return {"role": "tool", "tool_call_id": call_id, "content": "...", "extra": given | extra}


def text_call(command: str, fence: str = "bash") -> dict[str, Any]:
    return {"role": "assistant", "content": f"THOUGHT: I look.\n\n```{fence}\n{command}\n```"}


def text_answer(code: int, output: str) -> dict[str, Any]:
    return {"role": "user", "content": f"<returncode>{code}</returncode>\n<output>\n{output}</output>"}


def test_the_session_is_the_file_and_times_are_seconds() -> None:
    found = logs(FORMAT, trajectory(called("a"), answered("a")), name="runs/x__y-1.traj.json")
    assert (found[0]["session_id"], found[0]["meta"]["timestamp"]) == ("x__y-1", 1795377350103)


def test_the_cost_of_a_session_grows_and_tokens_of_refused_answers_count() -> None:
    refused = {"role": "user", "content": "No tool calls found", "extra": called("z")["extra"]}
    found = logs(
        FORMAT,
        trajectory(called("a", cost=0.5), answered("a"), refused, called("b", cost=0.25), answered("b")),
    )
    assert [each["state_delta"] for each in found] == [
        {"tokens_consumed": 105, "cumulative_session_cost": 0.5},
        {"tokens_consumed": 210, "cumulative_session_cost": 0.75},
    ]


def test_a_command_that_did_not_run_is_skipped_and_one_that_broke_failed() -> None:
    late = answered("a", -1, raw_output="", exception_info="timed out")
    never = answered("b", -1, raw_output="", exception_info="action was not executed")
    found = [each["action"] for each in logs(FORMAT, trajectory(called("a", "b"), late, never))]
    assert [each["status"] for each in found] == ["failure", "skipped"]
    assert found[0]["error"] == "timed out"


def test_the_command_that_hands_in_the_work_is_a_record_before_the_end() -> None:
    found = logs(FORMAT, trajectory(called("a"), EXIT), name="f.traj.json")
    assert event_ids(found) == ["a", "f/exit"]
    assert found[1]["action"] == {"status": "success", "kind": "system"}
    assert found[1]["control"] == {"is_terminal": True}


def test_a_trajectory_that_still_runs_has_no_end() -> None:
    given = trajectory(called("a"), answered("a"), called("b"), exit_status="")
    assert event_ids(logs(FORMAT, given)) == ["a"]
    assert reasons(FORMAT, given) == ["unanswered"]


@pytest.mark.parametrize("fence", ["bash", "mswea_bash_command"])
def test_version_1_has_its_calls_in_blocks_of_text(fence: str) -> None:
    messages = [
        text_call("cat a.py", fence),
        text_answer(1, "no such file\n"),
        text_call("ls", fence),
        text_answer(0, "b.py\n"),
    ]
    found = logs(FORMAT, trajectory(*messages, version="1"), name="f.traj.json")
    assert event_ids(found) == ["f/2", "f/4"]
    assert found[0]["cognition"]["intent"] == "THOUGHT: I look."
    assert found[0]["action"] == {
        "status": "failure",
        "kind": "tool",
        "tool_call": "bash",
        "tool_input": '{"command":"cat a.py"}',
        "error": "no such file\n",
    }
    assert found[1]["action"]["tool_output_summary"] == "b.py\n"


def test_version_1_writes_its_end_in_the_name_of_the_user() -> None:
    handed_in = [text_call("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"), {"role": "user", "content": "diff"}]
    found = logs(FORMAT, trajectory(*handed_in, version="1", exit_status="Submitted"), name="f.traj.json")
    assert [each["action"]["status"] for each in found] == ["success", "success"]
    assert found[1]["control"] == {"is_terminal": True}
    limit = [text_call("ls"), text_answer(0, "x"), {"role": "user", "content": "cost limit"}]
    found = logs(FORMAT, trajectory(*limit, version="1", exit_status="LimitsExceeded"), name="f.traj.json")
    assert found[-1]["action"] == {"status": "failure", "kind": "system", "error": "cost limit"}


def test_a_command_of_version_1_that_took_too_long_failed() -> None:
    late = {"role": "user", "content": "The last command timed out"}
    found = logs(
        FORMAT, trajectory(text_call("sleep 99"), late, text_call("ls"), text_answer(0, "x"), version="1")
    )
    assert [each["action"]["status"] for each in found] == ["failure", "success"]


def test_two_blocks_of_text_are_no_call() -> None:
    answer = {"role": "assistant", "content": "```bash\na\n```\n```bash\nb\n```"}
    assert [each["action"]["kind"] for each in logs(FORMAT, trajectory(answer, version="1"))] == ["llm"]


def test_version_2_may_ask_by_text_too() -> None:
    call = text_call("ls") | {"extra": {"actions": [{"command": "ls"}], "timestamp": 1795377349.9}}
    answer = {"role": "user", "content": "...", "extra": answered("-", 1)["extra"]}
    found = logs(FORMAT, trajectory(call, answer))
    assert (found[0]["action"]["status"], found[0]["action"]["error"]) == ("failure", "x\n")


def test_the_responses_interface_gives_a_response_as_a_message() -> None:
    call = {"type": "function_call", "id": "fc", "call_id": "a", "name": "bash", "arguments": "{}"}
    usage = {"input_tokens": 100, "output_tokens": 5}
    response = {"object": "response", "output": [{"type": "reasoning"}, call], "usage": usage, "extra": {}}
    answer = {
        "type": "function_call_output",
        "call_id": "a",
        "output": "...",
        "extra": answered("a")["extra"],
    }
    found = logs(FORMAT, trajectory(response, answer))
    assert event_ids(found) == ["a"]
    assert found[0]["state_delta"] == {"tokens_consumed": 105}


def test_calls_of_a_message_are_a_round_in_the_order_in_which_they_were_asked_for() -> None:
    found = logs(FORMAT, trajectory(called("a", "b"), answered("b"), answered("a")))
    assert event_ids(found) == ["a", "b"]
    assert len({each["meta"]["round_id"] for each in found}) == 1


def test_tokens_from_a_cache_are_counted_apart() -> None:
    message = called("a")
    message["extra"]["response"]["usage"]["prompt_tokens_details"] = {"cached_tokens": 90}
    [found] = logs(FORMAT, trajectory(message, answered("a")))
    assert found["state_delta"] == {"tokens_consumed": 15, "tokens_cached": 90}
