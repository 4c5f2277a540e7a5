"""The chats of Qwen Code: the envelope of Claude Code around the parts of Gemini."""

from typing import Any

import orjson

from streams.sources.adapters.qwen_code import FORMAT
from streams.sources.adapters.sniffing import sniffed
from tests.unit.sources.adapters.reading import event_ids, logs, reasons


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
