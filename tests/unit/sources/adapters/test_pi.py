"""The log of pi: messages with calls in them, and results in messages of their own."""

from typing import Any

from streams.sources.adapters.pi import FORMAT
from tests.unit.sources.adapters.reading import event_ids, logs, reasons

SESSION = {"type": "session", "version": 3, "id": "s", "cwd": "/srv"}


def line(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content, "timestamp": 1_795_377_700_000 + number, **more}
    time = f"2026-11-22T20:02:{number:02}.000Z"
    return {
        "type": "message",
        "id": f"m{number}",
        "parentId": f"m{number - 1}",
        "timestamp": time,
        "message": message,
    }


def said(number: int, *blocks: Any, total: int = 7, **more: Any) -> dict[str, Any]:
    return line(
        number, "assistant", list(blocks), usage={"totalTokens": total, "cost": {"total": 0.1}}, **more
    )


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": "bash", "arguments": arguments}


def result(number: int, call_id: str, words: str = "x", **more: Any) -> dict[str, Any]:
    return line(number, "toolResult", [text(words)], toolCallId=call_id, **more)


def test_a_call_has_the_words_and_tokens_of_its_message_and_the_goal_of_the_user() -> None:
    given = [SESSION, line(1, "user", [text("Fix it")]), said(2, text("I look."), call("c1", path="a.py"))]
    [found] = logs(FORMAT, *given, result(3, "c1"))
    assert (found["session_id"], found["event_id"]) == ("s", "c1")
    assert found["cognition"] == {"intent": "I look.", "goal": "Fix it"}
    assert found["action"]["target"] == "a.py"
    assert found["meta"]["timestamp"] == 1_795_377_723_000
    assert found["state_delta"]["tokens_consumed"] == 7


def test_an_error_is_a_failure() -> None:
    [found] = logs(FORMAT, SESSION, said(1, call("c1")), result(2, "c1", "no", isError=True))
    assert (found["action"]["status"], found["action"]["error"]) == ("failure", "no")


def test_parallel_calls_come_in_the_order_of_their_results_and_the_first_has_the_words() -> None:
    given = [said(1, text("Both."), call("c1"), call("c2", command="ls")), result(2, "c2"), result(3, "c1")]
    found = logs(FORMAT, SESSION, *given)
    assert event_ids(found) == ["c2", "c1"]
    assert [each["cognition"]["intent"] for each in found] == ['bash {"command":"ls"}', "Both."]
    assert [each.get("state_delta") is not None for each in found] == [True, False]


def test_a_message_without_a_call_ends_the_turn_and_an_aborted_one_failed() -> None:
    found = logs(FORMAT, SESSION, said(1, text("Done.")), said(2, text("I st"), stopReason="aborted"))
    assert event_ids(found) == ["m1", "m2"]
    assert [each["action"]["kind"] for each in found] == ["llm", "llm"]
    assert [each["action"]["status"] for each in found] == ["success", "failure"]


def test_content_may_be_a_text() -> None:
    found = logs(FORMAT, SESSION, line(1, "user", "Fix it"), line(2, "assistant", "Done."))
    assert [each["cognition"]["intent"] for each in found] == ["Done."]


def test_branches_are_judged_in_the_order_of_the_file() -> None:
    back = said(4, call("c2")) | {"parentId": "m0"}
    found = logs(FORMAT, SESSION, said(1, call("c1")), result(2, "c1"), back, result(5, "c2"))
    assert event_ids(found) == ["c1", "c2"]


def test_a_message_without_a_time_has_the_latest_one() -> None:
    silent = result(9, "c1")
    del silent["timestamp"], silent["message"]["timestamp"]
    [found] = logs(FORMAT, SESSION, said(4, call("c1")), silent)
    assert found["meta"]["timestamp"] == 1_795_377_724_000


def test_what_is_wrong_is_reported_and_what_says_nothing_of_a_step_is_counted() -> None:
    given = [said(1, {"text": 7}, call("c1")), line(2, "toolResult", []), result(3, "c9")]
    assert reasons(FORMAT, SESSION, *given) == [
        "unknown_shape",
        "unknown_shape",
        "orphan_result",
        "unanswered",
    ]
    assert reasons(FORMAT, SESSION, {"type": "model_change"}, line(1, "bashExecution", "ls")) == []
