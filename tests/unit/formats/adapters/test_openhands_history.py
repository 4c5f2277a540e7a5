"""The history of OpenHands before 1.0: actions, and the observations that they caused."""

from typing import Any

from streams.formats.adapters.openhands_history import FORMAT
from tests.unit.formats.adapters.reading import event_ids, json_lines, logs, reasons


def action(number: int, kind: str = "run", source: str = "agent", **args: Any) -> dict[str, Any]:
    time = f"2025-06-01T10:00:{number:02}.000000"
    return {"id": number, "timestamp": time, "source": source, "action": kind, "args": args}


def observed(number: int, cause: int, content: str = "x", code: int = 0, **more: Any) -> dict[str, Any]:
    event = {"id": number, "source": "agent", "observation": "run", "cause": cause, "content": content}
    return {**event, "extras": {"metadata": {"exit_code": code}}, **more}


TASK = action(0, "message", "user", content="Fix it")


def test_a_call_has_the_words_before_it_its_result_and_its_exit_code() -> None:
    given = [TASK, action(1, command="make", thought="I build."), observed(2, 1, "no rule", code=2)]
    [found] = logs(FORMAT, given)
    assert found["event_id"] == "run/1"
    assert found["cognition"] == {"intent": "I build.", "goal": "Fix it"}
    assert found["action"]["status"] == "failure"
    assert found["action"]["tool_input"] == '{"command":"make"}'


def test_calls_of_one_response_are_a_round() -> None:
    asked = {"tool_call_metadata": {"function_name": "execute_bash", "model_response": {"id": "r1"}}}
    given = [action(1, command="a") | asked, action(2, command="b") | asked, observed(3, 2), observed(4, 1)]
    found = logs(FORMAT, given)
    assert [(each["event_id"], each["meta"]["round_id"]) for each in found] == [
        ("run/1", "r1"),
        ("run/2", "r1"),
    ]
    assert found[0]["action"]["tool_call"] == "execute_bash"


def test_a_call_that_a_person_refused_is_skipped() -> None:
    [found] = logs(FORMAT, [action(1, command="a"), observed(2, 1, observation="user_rejected")])
    assert (found["action"]["status"], found["meta"]["user_turn"]) == ("skipped", "refusal")


def test_the_lines_of_a_benchmark_are_sessions_named_after_their_instance() -> None:
    given = [action(1, command="a"), observed(2, 1)]
    lines = json_lines(*({"instance_id": each, "history": given} for each in ("one", "two")))
    assert [each["session_id"] for each in logs(FORMAT, lines)] == ["one", "two"]


def test_pairs_of_actions_and_observations_are_read_and_the_end_is_a_record() -> None:
    end = action(3, "finish", final_thought="Done")
    assert event_ids(logs(FORMAT, [[action(1, command="a"), observed(2, 1)], end])) == ["run/1", "run/3"]


def test_what_is_no_event_is_a_problem() -> None:
    assert reasons(FORMAT, [3, {"source": "agent"}]) == ["unknown_shape", "unknown_shape"]
