"""Sessions that OpenCode exported: messages, and the states of their calls."""

from typing import Any

import orjson
import pytest

from streams.formats.adapters.adapter import Problem
from streams.formats.adapters.opencode import FORMAT
from tests.unit.formats.adapters.reading import event_ids, logs, read, reasons

START = 1_795_165_200_000


def session(*messages: Any, **info: Any) -> dict[str, Any]:
    return {
        "info": {"id": "ses_1", "version": "1.1", "time": {"created": START}, **info},
        "messages": list(messages),
    }


def user(*parts: Any) -> dict[str, Any]:
    return {"info": {"id": "msg_u", "role": "user"}, "parts": list(parts)}


def says(message_id: str, *parts: Any, **info: Any) -> dict[str, Any]:
    given = {"id": message_id, "role": "assistant", "time": {"created": START}, **info}
    return {"info": given, "parts": list(parts)}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(call_id: str, name: str = "read", **state: Any) -> dict[str, Any]:
    given = {"status": "completed", "input": {"filePath": "a.py"}, "output": "x", **state}
    return {"id": f"prt_{call_id}", "type": "tool", "callID": call_id, "tool": name, "state": given}


def test_a_call_has_its_round_the_goal_the_tokens_and_the_cost() -> None:
    tokens = {
        "total": 180,
        "input": 60,
        "output": 20,
        "reasoning": 5,
        "cache": {"read": 90, "write": 10},
    }
    asked = says("msg_1", tool("c1", time={"start": START, "end": START + 9}), tokens=tokens, cost=0.5)
    [found] = logs(FORMAT, session(user(text("Fix it")), asked))
    assert (found["session_id"], found["event_id"]) == ("ses_1", "c1")
    assert found["meta"] == {
        "trace_id": "ses_1",
        "timestamp": START + 9,
        "round_id": "msg_1",
        "user_turn": "task",
    }
    assert (found["cognition"]["goal"], found["action"]["target"]) == ("Fix it", "a.py")
    assert found["state_delta"] == {
        "tokens_consumed": 90,
        "tokens_cached": 90,
        "cumulative_session_cost": 0.5,
    }


@pytest.mark.parametrize(
    ("state", "status", "turn"),
    [
        ({"metadata": {"exit": 0}}, "success", None),
        ({"metadata": {"exit": 2}}, "failure", None),
        ({"metadata": {"exit": None}}, "success", None),
        ({"status": "error", "error": "Error: File not found"}, "failure", None),
        ({"status": "error", "error": "The user rejected permission to use this"}, "skipped", "refusal"),
        (
            {"status": "error", "error": "QuestionRejectedError: The user dismissed this question"},
            "skipped",
            "refusal",
        ),
        ({"status": "error", "error": "The user has specified a rule which prevents you"}, "failure", None),
        ({"status": "error", "error": "Tool execution aborted"}, "skipped", "interruption"),
        (
            {"output": "a\n<bash_metadata>\nUser aborted the command\n</bash_metadata>"},
            "skipped",
            "interruption",
        ),
        (
            {"output": "<bash_metadata>\nterminated command after exceeding timeout 5 ms\n</bash_metadata>"},
            "failure",
            None,
        ),
        ({"output": "User aborted the command"}, "success", None),
    ],
)
def test_how_a_call_ended(state: dict[str, Any], status: str, turn: str | None) -> None:
    [found] = logs(FORMAT, session(says("msg_1", tool("c1", "bash", **state))))
    assert (found["action"]["status"], found["meta"].get("user_turn")) == (status, turn)


def test_images_that_differ_never_become_equal() -> None:
    calls = [
        tool(f"c{n}", attachments=[{"id": f"p{n}", "mime": "image/png", "url": f"data:{n % 2}"}])
        for n in range(3)
    ]
    found = [each["action"]["tool_output_summary"] for each in logs(FORMAT, session(says("m", *calls)))]
    assert found[0] == found[2] != found[1]


def test_a_result_that_was_not_captured_is_none() -> None:
    found = logs(FORMAT, session(says("m", tool("c1", output=None), tool("c2", output=""))))
    assert [each["action"].get("tool_output_summary") for each in found] == [None, ""]


def test_a_child_session_names_its_parent_and_its_agent() -> None:
    given = session(user(text("Look")), says("m", tool("c1"), agent="explore"), parentID="ses_0")
    [found] = logs(FORMAT, given)
    assert found["meta"]["parent_session_id"] == "ses_0"
    assert "user_turn" not in found["meta"]
    assert (found["identity"]["agent_type"], found["cognition"]["goal"]) == ("explore", "Look")


def test_a_compaction_changes_the_context_and_its_summary_is_no_step() -> None:
    summary = says("m1", text("All of it"), summary=True)
    again = user(text("Continue", synthetic=True))
    [found] = logs(FORMAT, session(user({"type": "compaction"}), summary, again, says("m2", tool("c1"))))
    assert found["meta"]["context_change"] == "compacted"
    assert "goal" not in found["cognition"]


def test_words_end_a_turn_and_an_aborted_message_is_an_interruption() -> None:
    aborted = says("m1", text("I st"), error={"name": "MessageAbortedError"})
    found = logs(FORMAT, session(aborted, says("m2", tool("c1")), says("m3", text("Done."))))
    assert event_ids(found) == ["m1", "c1", "m3"]
    assert [each["action"]["status"] for each in found] == ["failure", "success", "success"]
    assert found[1]["meta"]["user_turn"] == "interruption"


def test_the_steps_of_one_message_are_rounds_and_equal_ids_are_told_apart() -> None:
    step = {"type": "step-start"}
    again = tool("c1") | {"id": "prt_2"}
    found = logs(FORMAT, session(says("m1", step, tool("c1"), step, again)))
    assert event_ids(found) == ["c1", "prt_2"]
    assert [each["meta"]["round_id"] for each in found] == ["m1", "m1/2"]


@pytest.mark.parametrize(
    "stored",
    [
        {"id": "ses_1", "projectID": "p", "title": "t"},
        {"id": "msg_1", "sessionID": "ses_1", "role": "user"},
        {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text"},
    ],
)
def test_a_file_of_the_storage_says_what_to_run(stored: dict[str, Any]) -> None:
    assert FORMAT.sniff(orjson.dumps(stored), "a.json") > 0
    [found] = read(FORMAT, stored)
    assert isinstance(found, Problem)
    assert "opencode export" in found.detail


def test_what_is_wrong_is_reported() -> None:
    given = session(7, says("m", 7, {"type": "tool"}, tool("c1", status="running")), user(7))
    assert reasons(FORMAT, given) == ["unknown_shape"] * 3 + ["unanswered"]
    assert reasons(FORMAT, {"info": {}}) == ["unknown_shape"]
