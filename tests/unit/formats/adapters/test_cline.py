"""The files of Cline, Roo Code and Kilo Code: messages with blocks, and calls as XML in texts."""

from typing import Any

import orjson
import pytest

from streams.formats.adapters import cline, cline_task
from streams.formats.adapters.cline_xml import written_calls
from tests.unit.formats.adapters.reading import event_ids, logs, read, reasons

HISTORY = "tasks/1795/api_conversation_history.json"
DETAILS = {"type": "text", "text": "<environment_details>\n# Open Tabs\na.py\n</environment_details>"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks), **more}


def says(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks), **more}


def use(call_id: str, name: str = "read_files", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result(call_id: str, content: Any = "x", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def session(*messages: Any) -> dict[str, Any]:
    return {"version": 1, "updated_at": "", "sessionId": "s", "messages": list(messages)}


def sniffed(value: Any, name: str = HISTORY) -> tuple[int, int]:
    head = orjson.dumps(value)
    return cline.FORMAT.sniff(head, name), cline_task.FORMAT.sniff(head, name)


def test_a_call_has_the_time_the_round_the_tokens_and_the_cost_of_its_message() -> None:
    metrics = {
        "inputTokens": 100,
        "outputTokens": 5,
        "cacheReadTokens": 80,
        "cacheWriteTokens": 3,
        "cost": 0.5,
    }
    asked = says(use("c1", paths=["a"]), id="m1", ts=1_795_165_201_000, metrics=metrics)
    given = [user(text("Fix it"), ts=1_795_165_200_000), asked, user(result("c1"), ts=1_795_165_202_000)]
    [found] = logs(cline.FORMAT, session(*given))
    assert (found["session_id"], found["meta"]["round_id"]) == ("s", "m1")
    assert found["meta"]["timestamp"] == 1_795_165_202_000
    assert found["state_delta"] == {
        "tokens_consumed": 108,
        "tokens_cached": 80,
        "cumulative_session_cost": 0.5,
    }


@pytest.mark.parametrize(
    ("content", "output", "status"),
    [
        ([{"query": "a", "result": "x", "success": True}], "x", "success"),
        ([{"query": "a", "result": "", "success": True}], "", "success"),
        ([{"query": "a", "result": {"n": 1}, "success": True}], '{"n":1}', "success"),
        ([{"query": "a", "result": "", "error": "no", "success": False}], "no", "failure"),
        ([{"query": "a", "result": "x"}, {"query": "b", "result": "y"}], "x\ny", "success"),
        ([{"rows": 3}], '{"rows":3}', "success"),
        ("The tool execution failed with the following error:\n<error>\nno\n</error>", None, "failure"),
        ('{"status":"error","message":"The tool execution failed"}', None, "failure"),
        ('{"status":"denied","message":"No"}', None, "skipped"),
        ("The user denied this operation.", None, "skipped"),
        ("Command failed with exit code 2.\nOutput:\n", None, "failure"),
        ("Command executed in terminal within '/srv'.\nExit code: 0\nOutput:\n", None, "success"),
        ("a file that says\nExit code: 1", None, "success"),
        (None, None, "success"),
    ],
)
def test_how_a_call_ended(content: Any, output: str | None, status: str) -> None:
    [found] = logs(cline.FORMAT, session(says(use("c1")), user(result("c1", content))))
    shown = found["action"].get("error", found["action"].get("tool_output_summary"))
    assert found["action"]["status"] == status
    if not isinstance(content, str):
        assert shown == output


def test_a_call_in_a_text_is_answered_by_the_texts_below_its_header() -> None:
    asked = says(text("I look.\n<read_file>\n<path>a.py</path>\n</read_file>"))
    answered = user(text("[read_file for 'a.py'] Result:"), text("x = 1"), DETAILS)
    task = user(text("<task>\nFix it\n</task>"), DETAILS)
    [found] = logs(cline_task.FORMAT, [task, asked, answered], name=HISTORY)
    assert found["session_id"] == "1795"
    assert found["cognition"] == {"intent": "I look.", "goal": "Fix it"}
    assert (found["action"]["tool_call"], found["action"]["target"]) == ("read_file", "a.py")
    assert found["action"]["tool_output_summary"] == "x = 1"


def test_header_and_result_may_stand_in_one_text_and_the_state_of_the_editor_is_cut_off() -> None:
    asked = says(text("<list_files>\n<path>.</path>\n</list_files>"))
    answered = user(text(f"[list_files for '.'] Result:\n\na.py\n{DETAILS['text']}"))
    [found] = logs(cline_task.FORMAT, [asked, answered], name=HISTORY)
    assert found["action"]["tool_output_summary"] == "a.py"


def test_a_file_that_holds_the_end_of_its_call_is_read_whole() -> None:
    words = "<write_to_file>\n<path>a</path>\n<content>\n</write_to_file>\n</content>\n</write_to_file>"
    [call], rest = written_calls(words, ["write_to_file"])
    assert (call.arguments, rest) == ({"path": "a", "content": "</write_to_file>"}, "")


def test_a_completion_ends_the_turn_and_feedback_to_it_is_a_person() -> None:
    done = says(text("<attempt_completion>\n<result>\nDone.\n</result>\n</attempt_completion>"))
    said = "The user has provided feedback.\n<feedback>\nNot yet\n</feedback>"
    answered = user(text("[attempt_completion] Result:"), text(said), DETAILS)
    native = [says(use("c1", "attempt_completion", result="Now.")), user(result("c1", ""))]
    found = logs(cline_task.FORMAT, [done, answered, *native], name=HISTORY)
    assert [each["action"]["kind"] for each in found] == ["llm", "llm"]
    assert [each["cognition"]["intent"] for each in found] == ["Done.", "Now."]
    assert found[1]["meta"]["user_turn"] == "task"


def test_a_resumption_and_a_summary_change_the_context() -> None:
    given = [user(text("[TASK RESUMPTION] This task was interrupted")), says(use("c1")), user(result("c1"))]
    given += [user(text("Before: x"), isSummary=True), says(use("c2")), user(result("c2"))]
    found = logs(cline_task.FORMAT, given, name=HISTORY)
    assert [each["meta"].get("context_change") for each in found] == ["resumed", "compacted"]


def test_agents_are_told_apart_by_the_folder() -> None:
    given = [says(use("c1")), user(result("c1"))]
    folder = "globalStorage/rooveterinaryinc.roo-cline/" + HISTORY
    [found] = logs(cline_task.FORMAT, given, name=folder)
    assert found["identity"]["agent_id"] == "roo-code"


def test_what_the_editor_shows_is_counted_and_left_out() -> None:
    shown = [{"ts": 1, "type": "say", "say": "text", "text": "Fix it"}]
    assert read(cline_task.FORMAT, shown, name="tasks/1795/ui_messages.json") == []
    assert sniffed(shown)[1] > 0


def test_a_task_is_recognised_by_its_name_or_by_what_the_programs_write() -> None:
    task = [user(text("<task>\nFix it\n</task>"), DETAILS)]
    assert sniffed(task, "a.json")[1] > 0
    assert sniffed([user(text("Fix it"))], "a.json") == (0, 0)
    assert sniffed([user(text("Fix it"))])[1] > 0
    assert sniffed(session())[0] > 0


def test_what_is_wrong_is_reported() -> None:
    given = [says(use("c1"), {"text": 7}), user(result("c9"), 7), {"role": "x"}, 7]
    assert reasons(cline.FORMAT, session(*given)) == [
        "unknown_shape",
        "orphan_result",
        "unknown_shape",
        "unknown_shape",
        "unknown_shape",
        "unanswered",
    ]
    assert reasons(cline.FORMAT, {"messages": []}) == ["unknown_shape"]
    assert reasons(cline_task.FORMAT, {}) == ["unknown_shape"]
    orphan = [user(text("[read_file for 'a'] Result:"), text("x"))]
    assert reasons(cline_task.FORMAT, orphan, name=HISTORY) == ["orphan_result"]
    assert event_ids(logs(cline.FORMAT, session(says(text("Hi.")), {"type": "reasoning"}))) == ["s/0"]
