"""The logs of Codex: items once, tokens that come late, heads that differ in each call."""

from typing import Any

from streams.formats.adapters import codex, codex_exec
from tests.unit.formats.adapters.reading import event_ids, logs

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


def at(time: str, line: dict[str, Any]) -> dict[str, Any]:
    return {**line, "timestamp": f"2026-11-22T{time}Z"}


def header(session_id: str, **payload: Any) -> dict[str, Any]:
    return {"type": "session_meta", "payload": {"id": session_id, **payload}}


def forked(*own: dict[str, Any], begin: tuple[dict[str, Any], ...] = ()) -> list[dict[str, Any]]:
    """A fork of `a`: its header, a copy of the log of `a` written at once, then its own lines."""
    copied = [header("a"), *begin, event("task_started"), call(0, "p1"), total(500), output(0, "p1")]
    return [at("10:00:00", header("b")), *(at("10:00:00.003", each) for each in copied), *own]


def test_what_a_fork_has_copied_is_no_work_of_its_own() -> None:
    own = [
        at("10:00:05", event("task_started")),
        at("10:00:06", call(0, "b1")),
        at("10:00:07", total(700)),
        at("10:00:08", output(0, "b1")),
    ]
    found = logs(codex.FORMAT, *forked(*own))
    assert [(each["session_id"], each["event_id"]) for each in found] == [("b", "b1")]
    assert found[0]["meta"]["parent_session_id"] == "a"
    assert tokens(found) == [200]


def test_a_fork_of_a_fork_is_one_session_below_the_one_it_was_made_of() -> None:
    own = [at("10:00:05", call(0, "b1")), at("10:00:06", output(0, "b1"))]
    begin = (header("root"), call(0, "r1"), output(0, "r1"))
    found = logs(codex.FORMAT, *forked(*own, begin=begin))
    assert [(each["session_id"], each["event_id"]) for each in found] == [("b", "b1")]
    assert found[0]["meta"]["parent_session_id"] == "a"


def test_a_turn_that_says_when_it_began_ends_a_copy_at_once() -> None:
    started = 1_795_341_600  # 10:00:00 of that day
    own = [
        at("10:00:00.004", event("task_started", started_at=started - 90)),
        at("10:00:00.004", call(0, "p2")),
        at("10:00:00.005", event("task_started", started_at=started)),
        at("10:00:00.006", call(0, "b1")),
        at("10:00:00.007", output(0, "b1")),
    ]
    assert event_ids(logs(codex.FORMAT, *forked(*own))) == ["b1"]


def test_a_clock_that_runs_backwards_hides_no_work_of_a_fork() -> None:
    own = [
        at("09:00:00", event("task_started")),
        at("09:00:01", call(0, "b1")),
        at("09:00:02", output(0, "b1")),
    ]
    assert event_ids(logs(codex.FORMAT, *forked(*own))) == ["b1"]


def test_words_to_a_sub_agent_are_its_goal_and_no_person() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "a", "depth": 1}}}
    given = [header("b", source=source), words(1, "user", "Look"), call(2, "c1"), output(3, "c1")]
    [found] = logs(codex.FORMAT, *given)
    assert found["cognition"]["goal"] == "Look"
    assert found["meta"]["parent_session_id"] == "a"
    assert "user_turn" not in found["meta"]


def test_a_header_that_comes_again_is_a_resumption() -> None:
    found = logs(codex.FORMAT, META, call(1, "c1"), output(2, "c1"), META, call(3, "c2"), output(4, "c2"))
    assert [each["meta"].get("context_change") for each in found] == [None, "resumed"]


def test_calls_of_one_response_are_a_round_and_a_result_ends_it() -> None:
    given = [call(1, "c1"), call(2, "c2"), output(3, "c2"), output(4, "c1"), call(5, "c3"), output(6, "c3")]
    found = logs(codex.FORMAT, META, *given)
    assert [(each["event_id"], each["meta"]["round_id"]) for each in found] == [
        ("c1", "c1"),
        ("c2", "c1"),
        ("c3", "c3"),
    ]


def test_cached_tokens_are_counted_apart() -> None:
    usage = {"input_tokens": 90, "cached_input_tokens": 60, "output_tokens": 10, "total_tokens": 100}
    spent = event("token_count", info={"total_token_usage": usage})
    [found] = logs(codex.FORMAT, META, call(1, "c1"), spent, output(2, "c1"))
    assert found["state_delta"] == {"tokens_consumed": 40, "tokens_cached": 60}


def test_calls_that_the_provider_carries_out_are_records_whose_result_is_not_known() -> None:
    search = item(1, "web_search_call", status="completed", action={"type": "search", "query": "x"})
    found = logs(codex.FORMAT, META, search, search)
    assert [each["action"]["tool_call"] for each in found] == ["web_search", "web_search"]
    assert all("tool_output_summary" not in each["action"] for each in found)
    assert len({each["event_id"] for each in found}) == 2


def test_failures_refusals_and_interruptions_are_told_apart_by_their_words() -> None:
    texts = [
        "failed in sandbox MacosSeatbelt with execution error: denied, exit code: 1",
        "execution error: No such file",
        "exec command rejected by user",
        "aborted by user after 3.1s",
        "rejected: 2 rows did not fit",
        "all 3 tests passed",
    ]
    lines = [each for n, text in enumerate(texts) for each in (call(n, f"c{n}"), output(n, f"c{n}", text))]
    found = logs(codex.FORMAT, META, *lines)
    statuses = [each["action"]["status"] for each in found]
    assert statuses == ["failure", "failure", "skipped", "skipped", "success", "success"]
    assert [each["meta"].get("user_turn") for each in found][2:4] == ["refusal", "interruption"]


def test_a_rollout_of_before_version_0_35_is_read() -> None:
    given = [
        {"id": "old", "timestamp": "2025-08-20T10:00:00.000Z", "instructions": None},
        {"record_type": "state"},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "x"},
    ]
    [found] = logs(codex.FORMAT, *given)
    assert (found["session_id"], found["event_id"]) == ("old", "c1")


def test_words_of_codex_count_and_those_of_a_command_below_a_head_do_not() -> None:
    texts = [
        "Wall time: 3.1 seconds\naborted by user",
        'exec_command failed for `ls`: CreateProcess { message: "Rejected(\\"rejected by user\\")" }',
        "approval policy is Never; reject command — you cannot ask for escalated permissions",
        "rejected: policy forbids commands starting with `rm`",
        "interrupted system calls: 3",
        "Chunk ID: a\nProcess running with session ID 4\nOutput:\nerror: 1 of 9 pages so far",
    ]
    lines = [each for n, text in enumerate(texts) for each in (call(n, f"c{n}"), output(n, f"c{n}", text))]
    found = logs(codex.FORMAT, META, *lines)
    statuses = [each["action"]["status"] for each in found]
    assert statuses == ["skipped", "skipped", "failure", "failure", "success", "success"]
    turns = [each["meta"].get("user_turn") for each in found]
    assert turns == ["interruption", "refusal", None, None, None, None]


def test_a_search_for_tools_is_a_call_whoever_carries_it_out() -> None:
    asked = {"arguments": {"query": "calendar"}, "status": "completed"}
    given = [
        item(1, "tool_search_call", call_id="c1", execution="client", **asked),
        item(2, "tool_search_output", call_id="c1", execution="client", tools=[{"name": "create_event"}]),
        item(3, "tool_search_call", execution="server", call_id=None, **asked),
        item(4, "tool_search_output", execution="server", call_id=None, tools=[]),
    ]
    found = logs(codex.FORMAT, META, *given)
    assert [each["action"]["tool_call"] for each in found] == ["tool_search", "tool_search"]
    assert [each["action"].get("tool_output_summary") for each in found] == ['{"name":"create_event"}', None]


def test_images_that_differ_are_results_that_differ() -> None:
    images = [
        item(n, "image_generation_call", id=f"i{n}", revised_prompt="a cart", result=image)
        for n, image in enumerate(["aGVs", "bG8h"])
    ]
    actions = [each["action"] for each in logs(codex.FORMAT, META, *images)]
    assert [each["tool_input"] for each in actions] == ["a cart", "a cart"]
    assert len({each["tool_output_summary"] for each in actions}) == 2


def test_tools_of_two_servers_with_one_name_are_two_tools() -> None:
    calls = [
        item(n, "function_call", call_id=f"c{n}", name="find", namespace=space, arguments="{}")
        for n, space in enumerate(["mcp__docs", "mcp__mail__"])
    ]
    found = logs(codex.FORMAT, META, *calls, output(3, "c0"), output(4, "c1"))
    assert [each["action"]["tool_call"] for each in found] == ["mcp__docs__find", "mcp__mail__find"]


def test_words_after_a_turn_that_ended_without_words_are_a_task() -> None:
    given = [call(1, "c1"), output(2, "c1"), event("task_complete"), words(3, "user", "Now the shop")]
    found = logs(codex.FORMAT, META, *given, call(4, "c2"), output(5, "c2"))
    assert found[1]["meta"]["user_turn"] == "task"


def test_no_session_is_above_itself() -> None:
    [found] = logs(codex.FORMAT, header("s", forked_from_id="s"), call(1, "c1"), output(2, "c1"))
    assert "parent_session_id" not in found["meta"]
