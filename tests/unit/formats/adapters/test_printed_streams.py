"""What coding agents print as they run: stream-json of Claude Code and of Gemini CLI, items of Codex."""

from typing import Any

from streams.formats.adapters import claude_stream_json, codex_exec, gemini_stream_json
from streams.formats.adapters.conversation import EPOCH_MS
from tests.unit.formats.adapters.reading import event_ids, logs, reasons
from tests.unit.formats.adapters.test_claude_code import REJECTED, USAGE

CLAUDE, GEMINI, CODEX = claude_stream_json.FORMAT, gemini_stream_json.FORMAT, codex_exec.FORMAT
INIT = {"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1"}


def claude(kind: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    message = {"id": "m1", "content": list(blocks), "usage": USAGE}
    return {"type": kind, "session_id": "s", "uuid": "u1", "message": message, **more}


def use(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "ls"}}


def result(call_id: str, content: Any = "x", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_claude_messages_of_one_id_count_their_tokens_once_and_the_version_comes_first() -> None:
    given = [INIT, claude("assistant", text("I look.")), claude("assistant", use("c1"))]
    [found] = logs(CLAUDE, *given, claude("user", result("c1")))
    delta = found["state_delta"]
    assert delta["tokens_consumed"] + delta.get("tokens_cached", 0) == sum(USAGE.values())
    assert found["identity"]["capability_version"] == "2.1"
    assert found["cognition"]["intent"] == "I look."


def test_claude_errors_are_failures_and_rejected_calls_are_skipped() -> None:
    given = [claude("assistant", use("c1"), use("c2")), claude("user", result("c1", "no", is_error=True))]
    found = logs(CLAUDE, INIT, *given, claude("user", result("c2", REJECTED, is_error=True)))
    assert [each["action"]["status"] for each in found] == ["failure", "skipped"]


def test_claude_words_end_a_turn_at_the_result_or_at_the_end() -> None:
    done = {"type": "result", "session_id": "s"}
    found = logs(CLAUDE, INIT, claude("assistant", text("Done.")), done, claude("assistant", text("More.")))
    assert [each["cognition"]["intent"] for each in found] == ["Done.", "More."]
    assert {each["action"]["kind"] for each in found} == {"llm"}


def test_claude_sub_agents_are_sessions_of_their_own() -> None:
    side = {"parent_tool_use_id": "c0"}
    found = logs(CLAUDE, INIT, claude("assistant", use("c1"), **side), claude("user", result("c1"), **side))
    assert [each["session_id"] for each in found] == ["s/c0"]


def test_claude_answers_without_a_time_have_the_latest_one() -> None:
    timed = claude("user", result("c1"), timestamp="2026-11-22T19:39:50Z")
    later = [claude("assistant", use("c2")), claude("user", result("c2"))]
    found = logs(CLAUDE, claude("assistant", use("c1")), timed, *later)
    assert [each["meta"]["timestamp"] for each in found] == [1_795_376_390_000] * 2


def test_claude_lines_without_a_session_are_reported() -> None:
    assert reasons(CLAUDE, {"type": "assistant"}, claude("user", result("c9"))) == [
        "unknown_shape",
        "orphan_result",
    ]


def gemini(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": "2026-11-22T19:39:50Z", **more}


def gemini_call(call_id: str, *, status: str = "success", **more: Any) -> list[dict[str, Any]]:
    given = gemini("tool_use", tool_id=call_id, tool_name="run", parameters={"command": "ls"})
    return [given, gemini("tool_result", tool_id=call_id, status=status, **more)]


BEGUN = gemini("init", session_id="s", model="m")


def test_gemini_calls_are_records_with_the_words_before_them_and_the_goal() -> None:
    asked = gemini("message", role="user", content="Fix it")
    words = gemini("message", role="assistant", content="I look.")
    [found] = logs(GEMINI, BEGUN, asked, words, *gemini_call("c1", output="x"))
    assert (found["session_id"], found["event_id"]) == ("s", "c1")
    assert found["cognition"] == {"intent": "I look.", "goal": "Fix it"}


def test_gemini_errors_are_failures_with_the_text_there_is() -> None:
    [found] = logs(GEMINI, BEGUN, *gemini_call("c1", status="error", error={"message": "no"}))
    assert (found["action"]["status"], found["action"]["error"]) == ("failure", '{"message":"no"}')


def test_gemini_pieces_of_a_message_are_one_and_end_the_turn_with_the_tokens() -> None:
    pieces = [gemini("message", role="assistant", content=each, delta=True) for each in ("Do", "ne.")]
    [found] = logs(GEMINI, BEGUN, *pieces, gemini("result", stats={"total_tokens": 580, "cached": 80}))
    assert found["cognition"]["intent"] == "Done."
    assert found["state_delta"] == {"tokens_consumed": 500, "tokens_cached": 80}


def test_gemini_says_that_it_stopped_a_loop() -> None:
    [found] = logs(GEMINI, BEGUN, gemini("error", message="Loop detected, stopping execution"))
    assert found["control"] == {"interrupt_signal": "loop_detected"}
    assert logs(GEMINI, BEGUN, gemini("error", message="quota")) == []


def test_gemini_results_without_calls_are_reported() -> None:
    assert reasons(GEMINI, BEGUN, gemini_call("c1")[1], gemini_call("c2")[0]) == [
        "orphan_result",
        "unanswered",
    ]


def item(number: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": f"item_{number}", "type": kind, **more}}


STARTED = {"type": "thread.started", "thread_id": "t"}


def test_codex_commands_tools_changes_and_searches_are_calls() -> None:
    given = [
        item(1, "command_execution", command="ls", aggregated_output="a.py", exit_code=0, status="completed"),
        item(2, "mcp_tool_call", server="docs", tool="find", arguments={"q": 1}, result={"content": "x"}),
        item(3, "file_change", changes=[{"path": "a.py", "kind": "update"}], status="completed"),
        item(4, "web_search", query="x"),
    ]
    found = logs(CODEX, STARTED, *given)
    assert event_ids(found) == ["t/item_1", "t/item_2", "t/item_3", "t/item_4"]
    assert [each["action"]["tool_call"] for each in found] == [
        "exec_command",
        "mcp__docs__find",
        "file_change",
        "web_search",
    ]
    assert [each["meta"]["timestamp"] - EPOCH_MS for each in found] == [0, 1000, 2000, 3000]


def test_codex_commands_fail_by_their_exit_code_and_declined_ones_are_skipped() -> None:
    failed = item(
        1, "command_execution", command="ls", aggregated_output="no", exit_code=2, status="completed"
    )
    declined = item(
        2, "command_execution", command="rm a", aggregated_output="", exit_code=None, status="declined"
    )
    wrong = item(3, "mcp_tool_call", tool="find", error={"message": "no"}, status="failed")
    found = logs(CODEX, STARTED, failed, declined, wrong)
    assert [each["action"]["status"] for each in found] == ["failure", "skipped", "failure"]
    assert found[2]["action"]["error"] == '{"message":"no"}'


def test_codex_tokens_of_a_turn_go_to_its_last_words() -> None:
    ended = {
        "type": "turn.completed",
        "usage": {"input_tokens": 20, "cached_input_tokens": 5, "output_tokens": 3},
    }
    [found] = logs(CODEX, STARTED, item(1, "agent_message", text="Done."), ended)
    assert (found["action"]["kind"], found["state_delta"]) == (
        "llm",
        {"tokens_consumed": 18, "tokens_cached": 5},
    )


def test_codex_calls_that_start_and_await_other_agents_are_calls() -> None:
    given = [
        item(
            1,
            "collab_tool_call",
            tool="spawn_agent",
            prompt="Look",
            receiver_thread_ids=["u"],
            status="completed",
        ),
        item(
            2,
            "collab_tool_call",
            tool="wait",
            receiver_thread_ids=["u"],
            agents_states={"u": {"status": "completed"}},
        ),
    ]
    found = logs(CODEX, STARTED, *given)
    assert [each["action"]["tool_call"] for each in found] == ["spawn_agent", "wait"]
    assert found[1]["action"]["tool_output_summary"] == '{"u":{"status":"completed"}}'


def test_codex_words_go_to_the_next_command() -> None:
    command = item(2, "command_execution", command="ls", aggregated_output="", exit_code=0)
    [found] = logs(CODEX, STARTED, item(1, "agent_message", text="I look."), command)
    assert found["cognition"]["intent"] == "I look."


def test_codex_begun_items_reasoning_and_lists_are_counted_and_items_without_a_type_reported() -> None:
    begun = {"type": "item.started", "item": {"id": "item_1", "type": "command_execution", "command": "ls"}}
    assert logs(CODEX, STARTED, begun, item(2, "reasoning", text="x"), item(3, "todo_list", items=[])) == []
    assert reasons(CODEX, STARTED, {"type": "item.completed", "item": {"id": "x"}}) == ["unknown_shape"]


def test_codex_commands_that_no_shell_can_read_stay_as_they_are() -> None:
    assert codex_exec.unwrapped("/bin/bash -lc 'cat") == "/bin/bash -lc 'cat"
    assert codex_exec.unwrapped("/bin/zsh -lc ls") == "ls"
    assert codex_exec.unwrapped("python -c 'print(1)'") == "python -c 'print(1)'"
