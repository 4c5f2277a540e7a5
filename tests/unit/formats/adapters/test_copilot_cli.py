"""The log of Copilot CLI: messages that ask for calls, and how these end."""

from typing import Any

import pytest

from streams.formats.adapters.copilot_cli import FORMAT
from tests.unit.formats.adapters.reading import event_ids, logs, reasons


def event(kind: str, **data: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "data": data,
        "id": "e",
        "parentId": None,
        "timestamp": "2026-11-20T09:00:00.000Z",
    }


START = event("session.start", sessionId="s", copilotVersion="1.0.61")


def asks(message_id: str, *call_ids: str, **more: Any) -> dict[str, Any]:
    requests = [{"toolCallId": each, "name": "bash", "arguments": {"command": "ls"}} for each in call_ids]
    return event("assistant.message", messageId=message_id, content="", toolRequests=requests, **more)


def done(call_id: str, **more: Any) -> dict[str, Any]:
    return event("tool.execution_complete", toolCallId=call_id, **{"success": True, **more})


def test_a_call_has_its_round_the_tokens_of_its_message_and_the_goal() -> None:
    given = [event("user.message", content="Fix it"), asks("m1", "c1", outputTokens=7)]
    [found] = logs(FORMAT, START, *given, done("c1", result={"content": "a.py"}))
    assert (found["session_id"], found["event_id"]) == ("s", "c1")
    assert (found["meta"]["round_id"], found["meta"]["user_turn"]) == ("m1", "task")
    assert found["cognition"]["goal"] == "Fix it"
    assert found["state_delta"] == {"tokens_consumed": 7}
    assert found["action"]["tool_output_summary"] == "a.py"


@pytest.mark.parametrize(
    ("end", "status", "turn"),
    [
        ({"success": False, "error": {"message": "no such file"}}, "failure", None),
        ({"success": False}, "failure", None),
        ({"result": {"content": "E\n<exited with exit code 2>"}}, "failure", None),
        ({"result": {"content": "ok\n<exited with exit code 0>"}}, "success", None),
        ({"result": {"content": "<exited with exit code 2>\nthat was it"}}, "success", None),
        ({"success": False, "error": {"message": "No.", "code": "rejected"}}, "skipped", "refusal"),
        ({"success": False, "error": {"message": "Not allowed", "code": "denied"}}, "failure", None),
        (
            {"success": False, "error": "The execution of this tool, or a previous tool was interrupted."},
            "skipped",
            "interruption",
        ),
    ],
)
def test_how_a_call_ended(end: dict[str, Any], status: str, turn: str | None) -> None:
    [found] = logs(FORMAT, START, asks("m1", "c1"), done("c1", **end))
    assert (found["action"]["status"], found["meta"].get("user_turn")) == (status, turn)


def test_the_number_of_its_shell_is_no_part_of_a_result() -> None:
    given = [
        each
        for n in (0, 1)
        for each in (
            asks(f"m{n}", f"c{n}"),
            done(f"c{n}", result={"content": f"no such file\n<shellId: {n} completed with exit code 1>"}),
        )
    ]
    found = logs(FORMAT, START, *given)
    assert [each["action"]["error"] for each in found] == ["no such file"] * 2


def test_a_result_that_was_not_captured_is_none_and_an_empty_one_is_empty() -> None:
    given = [asks("m1", "c1"), done("c1"), asks("m2", "c2"), done("c2", result={"content": ""})]
    found = logs(FORMAT, START, *given)
    assert [each["action"].get("tool_output_summary") for each in found] == [None, ""]


def test_a_sub_agent_is_a_session_of_its_own_and_its_goal_is_its_prompt() -> None:
    task = event(
        "assistant.message",
        messageId="m1",
        toolRequests=[{"toolCallId": "t1", "name": "task", "arguments": {"prompt": "Look"}}],
    )
    started = event("subagent.started", toolCallId="t1", agentName="explore") | {"agentId": "agent-1"}
    inner = [asks("m2", "c1") | {"agentId": "agent-1"}, done("c1", parentToolCallId="t1")]
    child, main = logs(FORMAT, START, task, started, *inner, done("t1"))
    assert (child["session_id"], child["meta"]["parent_session_id"]) == ("s/t1", "s")
    assert (child["identity"]["agent_type"], child["cognition"]["goal"]) == ("explore", "Look")
    assert (main["session_id"], main["event_id"]) == ("s", "t1")


def test_a_call_of_the_person_is_none_of_the_agent() -> None:
    given = [event("tool.user_requested", toolCallId="u1", toolName="bash"), done("u1")]
    begun = event("tool.execution_start", toolCallId="u1", toolName="bash")
    assert logs(FORMAT, START, given[0], begun, given[1]) == []
    assert reasons(FORMAT, START, given[0], begun, given[1]) == []


def test_a_call_that_no_message_asked_for_begins_with_its_start() -> None:
    begun = event("tool.execution_start", toolCallId="c1", toolName="view", arguments={"path": "a.py"})
    [found] = logs(FORMAT, START, begun, done("c1", result={"content": "x"}))
    assert (found["action"]["tool_call"], found["action"]["target"]) == ("view", "a.py")


def test_words_end_a_turn_and_an_abort_is_an_interruption() -> None:
    said = event("assistant.message", messageId="m1", content="Done.")
    ended = event("assistant.turn_end", turnId="0")
    given = [said, ended, event("abort", reason="user initiated"), asks("m2", "c1"), done("c1")]
    found = logs(FORMAT, START, *given)
    assert event_ids(found) == ["m1", "c1"]
    assert found[1]["meta"]["user_turn"] == "interruption"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (event("session.resume"), "resumed"),
        (event("session.compaction_complete", success=True), "compacted"),
        (event("session.compaction_complete", success=False), None),
        (event("session.truncation", messagesRemovedDuringTruncation=4), "compacted"),
        (event("session.truncation", messagesRemovedDuringTruncation=0), None),
    ],
)
def test_what_was_done_to_the_context_stands_in_the_next_record(
    change: dict[str, Any], word: str | None
) -> None:
    [found] = logs(FORMAT, START, change, asks("m1", "c1"), done("c1"))
    assert found["meta"].get("context_change") == word


def test_a_session_without_its_first_line_is_named_after_the_folder() -> None:
    [found] = logs(FORMAT, asks("m1", "c1"), done("c1"), name="session-state/s1/events.jsonl")
    assert found["session_id"] == "s1"


def test_the_usage_of_a_model_call_counts_without_what_came_from_the_cache() -> None:
    used = event("assistant.usage", inputTokens=100, outputTokens=5, cacheReadTokens=80)
    [found] = logs(FORMAT, START, used, asks("m1", "c1"), done("c1"))
    assert found["state_delta"] == {"tokens_consumed": 25, "tokens_cached": 80}


def test_what_is_unknown_is_a_problem_and_what_says_nothing_is_counted() -> None:
    given = [event("tool.other"), {"type": "x"}, event("assistant.message", toolRequests=[{}]), done("c9")]
    assert reasons(FORMAT, START, *given, event("tool.execution_start"), asks("m", "c")) == [
        "unknown_shape",
        "unknown_shape",
        "unknown_shape",
        "orphan_result",
        "unknown_shape",
        "unanswered",
    ]
    assert reasons(FORMAT, START, event("session.info"), event("user.message", source="system")) == []
