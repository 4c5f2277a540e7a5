"""The chats of Qwen Code: the envelope of Claude Code around the parts of Gemini."""

from typing import Any

import orjson

from streams.formats.adapters.qwen_code import FORMAT
from streams.formats.format_detection import sniffed
from tests.unit.formats.adapters.reading import event_ids, logs, reasons


def line(kind: str, number: int, *parts: Any, **more: Any) -> dict[str, Any]:
    time = f"2026-11-22T19:39:{number:02}.000Z"
    message = {"parts": list(parts)}
    return {
        "type": kind,
        "uuid": f"u{number}",
        "sessionId": "s",
        "timestamp": time,
        "message": message,
        **more,
    }


def called(number: int, *calls: str) -> dict[str, Any]:
    parts = [{"functionCall": {"id": each, "name": "run_shell_command", "args": {}}} for each in calls]
    return line("assistant", number, *parts)


def answered(number: int, call: str, text: str = "x", **more: Any) -> dict[str, Any]:
    response = {"functionResponse": {"id": call, "name": "run_shell_command", "response": {"output": text}}}
    return line("tool_result", number, response, **more)


def test_it_is_not_taken_for_claude_code() -> None:
    assert sniffed(orjson.dumps(called(1, "c1")), "chat.jsonl") == "qwen-code"


def test_calls_of_a_message_are_a_round() -> None:
    found = logs(FORMAT, called(1, "c1", "c2"), answered(2, "c2"), answered(3, "c1"))
    assert [(each["event_id"], each["meta"]["round_id"]) for each in found] == [("c1", "u1"), ("c2", "u1")]


def test_a_failed_command_is_a_failure_though_its_call_succeeded() -> None:
    text = "Command: a\nDirectory: (root)\nOutput: no\nError: (none)\nExit Code: 1\nProcess Group PGID: 7"
    [found] = logs(FORMAT, called(1, "c1"), answered(2, "c1", text, toolCallResult={"status": "success"}))
    assert found["action"]["status"] == "failure"
    assert found["action"]["error"] == "no"


def test_a_call_that_a_person_did_not_allow_is_skipped() -> None:
    refused = answered(2, "c1", toolCallResult={"status": "cancelled"})
    [found] = logs(FORMAT, called(1, "c1"), refused)
    assert (found["action"]["status"], found["meta"]["user_turn"]) == ("skipped", "refusal")


def test_an_answer_without_an_id_is_that_of_the_first_open_call_of_its_tool() -> None:
    response = {"functionResponse": {"name": "run_shell_command", "response": {"output": "x"}}}
    assert event_ids(logs(FORMAT, called(1, "c1", "c2"), line("tool_result", 2, response))) == ["c1"]


def test_what_is_not_known_is_a_problem() -> None:
    assert reasons(FORMAT, line("assistant", 1, {"new": 1})) == ["unknown_shape"]
    assert reasons(FORMAT, {**line("user", 1), "message": "text"}) == ["unknown_shape"]


def test_a_sub_agent_is_a_session_of_its_own_and_asked_by_no_person() -> None:
    side = {"isSidechain": True, "agentId": "explore-1"}
    given = [line("user", 1, {"text": "Look"}), called(2, "c1"), answered(3, "c1")]
    [found] = logs(FORMAT, *(each | side for each in given))
    assert (found["session_id"], found["meta"]["parent_session_id"]) == ("s/explore-1", "s")
    assert "user_turn" not in found["meta"]


def test_what_a_fork_has_copied_is_left_out() -> None:
    origin = {"forkedFrom": {"sessionId": "up", "messageUuid": "u1"}}
    copied = [called(1, "c1") | origin, answered(2, "c1") | origin]
    found = logs(FORMAT, *copied, called(3, "c2"), answered(4, "c2"))
    assert event_ids(found) == ["c2"]
    assert found[0]["meta"]["parent_session_id"] == "up"


def test_a_session_names_the_one_that_started_it() -> None:
    above: dict[str, Any] = {"type": "system", "subtype": "parent_session", "sessionId": "s", "uuid": "u0"}
    above["systemPayload"] = {"parentSessionId": "up"}
    [found] = logs(FORMAT, above, called(1, "c1"), answered(2, "c1"))
    assert found["meta"]["parent_session_id"] == "up"


def test_words_of_the_program_are_neither_a_goal_nor_a_person() -> None:
    told = line("user", 1, {"text": "Task 7 is done"}, subtype="notification")
    [found] = logs(FORMAT, told, called(2, "c1"), answered(3, "c1"))
    assert "goal" not in found["cognition"]
    assert "user_turn" not in found["meta"]
    steered = line("user", 1, {"text": "Stop that"}, subtype="mid_turn_user_message")
    assert logs(FORMAT, steered, called(2, "c1"), answered(3, "c1"))[0]["cognition"]["goal"] == "Stop that"


def test_calls_of_a_round_of_a_sub_agent_stand_in_lines_of_their_own() -> None:
    round_1 = [line("assistant", 1, {"text": "Both."}), called(2, "c1"), called(3, "c2")]
    given = [*round_1, answered(4, "c2"), answered(5, "c1"), called(6, "c3"), answered(7, "c3")]
    found = logs(FORMAT, *(each | {"isSidechain": True, "agentId": "a"} for each in given))
    rounds = [(each["event_id"], each["meta"]["round_id"]) for each in found]
    assert rounds == [("c1", "u1"), ("c2", "u1"), ("c3", "u6")]
