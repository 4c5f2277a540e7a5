"""The logs of Codex: items once, tokens that come late, heads that differ in each call."""

from typing import Any

from streams.sources.adapters import codex, codex_exec
from tests.unit.sources.adapters.reading import event_ids, logs

META = {"type": "session_meta", "payload": {"id": "s", "cli_version": "1.0"}}


def item(number: int, kind: str, **payload: Any) -> dict[str, Any]:
    time = f"2026-11-22T19:39:{number:02}.000Z"
    return {"type": "response_item", "timestamp": time, "payload": {"type": kind, **payload}}


def event(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": kind, **payload}}


def call(number: int, call_id: str) -> dict[str, Any]:
    return item(number, "function_call", call_id=call_id, name="exec_command", arguments='{"cmd": "ls"}')


def output(number: int, call_id: str, text: str = "x") -> dict[str, Any]:
    return item(number, "function_call_output", call_id=call_id, output=text)


def words(number: int, role: str, text: str) -> dict[str, Any]:
    return item(
        number, "message", id=f"m{number}", role=role, content=[{"type": "output_text", "text": text}]
    )


def used(tokens: int) -> dict[str, Any]:
    return {"type": "token_usage_record", "payload": {"usage": {"total_tokens": tokens}}}


def total(tokens: int) -> dict[str, Any]:
    return event("token_count", info={"total_token_usage": {"total_tokens": tokens}})


def tokens(found: list[dict[str, Any]]) -> list[int]:
    return [each["state_delta"]["tokens_consumed"] for each in found]


def test_the_last_words_wait_for_the_tokens_that_come_after_them() -> None:
    found = logs(
        codex.FORMAT, META, call(1, "c1"), used(7), output(2, "c1"), words(3, "assistant", "Done"), used(9)
    )
    assert (event_ids(found), tokens(found)) == (["c1", "m3"], [7, 9])


def test_of_older_versions_the_differences_of_the_sum_count() -> None:
    given = [call(1, "c1"), total(7), output(2, "c1"), call(3, "c2"), total(12), output(4, "c2")]
    assert tokens(logs(codex.FORMAT, META, *given)) == [7, 5]


def test_where_tokens_are_there_twice_they_count_once() -> None:
    given = [
        call(1, "c1"),
        used(7),
        output(2, "c1"),
        total(7),
        call(3, "c2"),
        used(5),
        output(4, "c2"),
        total(12),
    ]
    assert tokens(logs(codex.FORMAT, META, *given)) == [7, 5]


def test_the_goal_is_what_the_user_said_and_not_what_the_program_says_of_the_machine() -> None:
    given = [words(1, "user", "<environment_context>linux"), words(2, "user", "Fix it"), call(3, "c1")]
    assert logs(codex.FORMAT, META, *given, output(4, "c1"))[0]["cognition"]["goal"] == "Fix it"


def test_an_exit_code_in_the_head_is_the_status_and_the_head_is_taken_off() -> None:
    text = "Chunk ID: 5fb076\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno such file\n"
    action = logs(codex.FORMAT, META, call(1, "c1"), output(2, "c1", text))[0]["action"]
    assert (action["status"], action["error"]) == ("failure", "no such file")


def test_a_command_that_is_there_as_an_event_too_is_one_record() -> None:
    twice = event("item_completed", item={"type": "CommandExecution", "id": "c1"})
    assert event_ids(logs(codex.FORMAT, META, call(1, "c1"), twice, output(2, "c1"))) == ["c1"]


def test_calls_of_custom_tools_and_of_the_local_shell_are_read() -> None:
    custom = item(1, "custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin Patch")
    shell = item(3, "local_shell_call", call_id="c2", action={"command": ["ls"]})
    given = [custom, item(2, "custom_tool_call_output", call_id="c1", output="ok"), shell, output(4, "c2")]
    found = logs(codex.FORMAT, META, *given)
    assert [each["action"]["tool_call"] for each in found] == ["apply_patch", "local_shell"]
    assert [each["action"]["tool_input"] for each in found] == ["*** Begin Patch", '{"command":["ls"]}']


def test_a_printed_run_has_the_commands_without_their_shell() -> None:
    started = {"type": "thread.started", "thread_id": "t"}
    done = {
        "id": "item_1",
        "type": "command_execution",
        "command": "/bin/bash -lc 'cat a.py'",
        "aggregated_output": "no",
        "exit_code": 1,
        "status": "failed",
    }
    found = logs(codex_exec.FORMAT, started, {"type": "item.completed", "item": done})
    action = found[0]["action"]
    assert (action["tool_input"], action["status"], action["error"]) == (
        '{"cmd":"cat a.py"}',
        "failure",
        "no",
    )
