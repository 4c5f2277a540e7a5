"""Runs of LangSmith: their order, their thread, and what was not captured."""

from typing import Any

from streams.formats.adapters.langsmith import FORMAT
from tests.unit.formats.adapters.reading import event_ids, json_lines, logs, reasons


def run(number: int, kind: str = "tool", **more: Any) -> dict[str, Any]:
    return {
        "id": f"run-{number}",
        "name": "search",
        "run_type": kind,
        "trace_id": "trace-1",
        "parent_run_id": "run-0",
        "session_id": "the project",
        "start_time": f"2026-11-22T20:00:{number:02}",
        "end_time": f"2026-11-22T20:00:{number:02}.289799",
        "dotted_order": f"20261122T2000{number:02}000000Zrun-{number}",
        "inputs": {"q": "x"},
        "outputs": {
            "output": {"content": f"result {number}", "type": "tool", "tool_call_id": f"call_{number}"}
        },
        "error": None,
        "extra": {"metadata": {"lc_agent_name": "coder"}},
    } | more


def test_runs_are_put_in_order_whatever_the_order_of_the_lines() -> None:
    runs = [run(n) for n in (3, 1, 2)]
    assert event_ids(logs(FORMAT, json_lines(*runs))) == ["run-1", "run-2", "run-3"]
    assert logs(FORMAT, runs) == logs(FORMAT, json_lines(*runs)) == logs(FORMAT, {"runs": runs})


def test_the_project_is_no_session_and_a_thread_of_any_run_is_that_of_its_trace() -> None:
    root = run(0, "chain", extra={"metadata": {"thread_id": "thread-1"}})
    other = run(2, trace_id="trace-2")
    found = logs(FORMAT, json_lines(run(1), root, other))
    assert [each["session_id"] for each in found] == ["thread-1", "trace-2"]
    assert [each["meta"]["trace_id"] for each in found] == ["trace-1", "trace-2"]


def test_a_session_id_of_the_metadata_comes_before_the_thread() -> None:
    metadata = {"thread_id": "t", "conversation_id": "c", "session_id": "s"}
    assert logs(FORMAT, run(1, extra={"metadata": metadata}))[0]["session_id"] == "s"


def test_the_result_is_the_content_of_the_tool_message() -> None:
    first, second = logs(FORMAT, json_lines(run(1), run(2, error="ToolException('boom')")))
    assert first["action"]["tool_output_summary"] == "result 1"
    assert (second["action"]["status"], second["action"]["error"]) == ("failure", "ToolException('boom')")


def test_tokens_and_costs_of_models_go_to_the_next_call() -> None:
    model = {"prompt_tokens": 100, "completion_tokens": 15, "total_cost": "0.25"}
    runs = [run(1, "llm", **model), run(2), run(3, "llm", total_tokens=7, total_cost=0.25), run(4)]
    assert [each["state_delta"] for each in logs(FORMAT, json_lines(*runs))] == [
        {"tokens_consumed": 115, "cumulative_session_cost": 0.25},
        {"tokens_consumed": 7, "cumulative_session_cost": 0.5},
    ]


def test_hidden_inputs_are_arguments_that_were_not_captured() -> None:
    hidden = run(1, inputs={}, outputs={})
    assert reasons(FORMAT, hidden) == ["no_content"]
    assert logs(FORMAT, hidden)[0]["action"]["tool_input"] == '{"not_captured":"run-1"}'
    assert reasons(FORMAT, run(1, inputs={})) == []


def test_a_run_that_has_not_ended_is_reported() -> None:
    assert reasons(FORMAT, json_lines(run(1, end_time=None))) == ["unanswered"]


def test_a_run_exported_twice_is_one_record() -> None:
    assert event_ids(logs(FORMAT, json_lines(run(1), run(1)))) == ["run-1"]


def asking(number: int, *call_ids: str, **more: Any) -> dict[str, Any]:
    message = {"kwargs": {"content": "", "tool_calls": [{"id": each, "name": "f"} for each in call_ids]}}
    return run(number, "llm", outputs={"generations": [[{"message": message}]]}, **more)


def test_a_call_is_of_the_round_of_the_model_that_named_its_id() -> None:
    runs = [asking(1, "call_2", "call_3"), run(2), run(3), asking(4, "other"), run(5)]
    rounds = [each["meta"].get("round_id") for each in logs(FORMAT, json_lines(*reversed(runs)))]
    assert rounds == ["run-1", "run-1", None]


def test_ids_of_another_session_are_no_round_of_this_one() -> None:
    runs = [asking(1, "call_2", trace_id="trace-2"), run(2)]
    assert "round_id" not in logs(FORMAT, json_lines(*runs))[0]["meta"]


def test_tokens_from_a_cache_are_counted_apart() -> None:
    model = {"total_tokens": 115, "prompt_token_details": {"cache_read": 90}}
    found = logs(FORMAT, json_lines(run(1, "llm", **model), run(2)))
    assert found[0]["state_delta"] == {"tokens_consumed": 25, "tokens_cached": 90}
