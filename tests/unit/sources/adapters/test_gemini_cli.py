"""The log of Gemini CLI: messages that are written twice, and failures that are called a success."""

from typing import Any

from streams.sources.adapters.gemini_cli import FORMAT
from tests.unit.sources.adapters.reading import event_ids, logs

START = {"sessionId": "s", "projectHash": "p"}


def message(message_id: str, content: str = "", **more: Any) -> dict[str, Any]:
    time = "2026-11-22T19:39:50.000Z"
    return {
        "id": message_id,
        "timestamp": time,
        "type": "gemini",
        "content": content,
        "tokens": {"total": 9},
        **more,
    }


def user(text: str) -> dict[str, Any]:
    return {"id": text, "timestamp": "2026-11-22T19:39:51.000Z", "type": "user", "content": [{"text": text}]}


def call(call_id: str, text: str, status: str = "success") -> dict[str, Any]:
    result = [{"functionResponse": {"response": {"output": text}}}]
    return {"id": call_id, "name": "run", "args": {"command": "ls"}, "status": status, "result": result}


def test_a_message_that_is_written_again_counts_once() -> None:
    given = [message("m1", "I look."), message("m1", "I look.", toolCalls=[call("c1", "x")])]
    found = logs(FORMAT, START, *given, given[1])
    assert event_ids(found) == ["c1"]
    assert found[0]["cognition"]["intent"] == "I look."
    assert found[0]["state_delta"]["tokens_consumed"] == 9


def test_the_exit_code_in_the_text_is_the_status() -> None:
    text = "<untrusted_context>\nOutput: no\nExit Code: 1\nProcess Group PGID: 1042\n</untrusted_context>"
    action = logs(FORMAT, START, message("m1", toolCalls=[call("c1", text)]))[0]["action"]
    assert (action["status"], action["error"]) == ("failure", "no")


def test_a_cancelled_call_is_skipped() -> None:
    found = logs(FORMAT, START, message("m1", toolCalls=[call("c1", "", "cancelled")]))
    assert found[0]["action"]["status"] == "skipped"


def test_words_without_calls_end_the_turn_when_something_else_follows() -> None:
    found = logs(FORMAT, START, user("Fix it"), message("m1", "Done."), user("Thanks"))
    assert event_ids(found) == ["m1"]
    assert found[0]["action"]["kind"] == "llm"


def test_what_the_program_says_of_the_session_is_no_goal() -> None:
    given = [user("<session_context>\nToday"), user("Fix it"), message("m1", toolCalls=[call("c1", "x")])]
    assert logs(FORMAT, START, *given)[0]["cognition"]["goal"] == "Fix it"
