"""The log of Claude Code: one line a block, usage once a message, turns that end without saying so."""

from typing import Any

import orjson

from streams.formats.adapters.adapter import Problem
from streams.formats.adapters.claude_code import FORMAT
from tests.unit.formats.adapters.reading import event_ids, logs, reasons

USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 2,
    "cache_read_input_tokens": 3,
    "output_tokens": 5,
}


def line(kind: str, number: int, message: dict[str, Any], **more: Any) -> dict[str, Any]:
    time = f"2026-11-22T19:39:{number:02}.000Z"
    return {
        "type": kind,
        "uuid": f"u{number}",
        "sessionId": "s",
        "timestamp": time,
        "message": message,
        **more,
    }


def said(number: int, text: str, message: str = "m1", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return line("assistant", number, {"id": message, "content": content, "usage": USAGE, **more})


def called(number: int, call: str, message: str = "m1", **more: Any) -> dict[str, Any]:
    content = [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}]
    return line("assistant", number, {"id": message, "content": content, "usage": USAGE}, **more)


def answered(number: int, call: str, content: Any = "x", **more: Any) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": call, "content": content, **more}
    return line("user", number, {"content": [result]})


def asked(number: int, text: str, **more: Any) -> dict[str, Any]:
    return line("user", number, {"content": text}, **more)


def test_the_usage_of_a_message_counts_once_and_by_its_last_line() -> None:
    last = called(2, "c1")
    last["message"]["usage"] = {**USAGE, "output_tokens": 9}
    found = logs(FORMAT, said(1, "I look."), last, answered(3, "c1"))
    assert [each["state_delta"] for each in found] == [{"tokens_consumed": 10 + 2 + 9, "tokens_cached": 3}]


def test_calls_of_a_message_are_a_round_in_the_order_in_which_they_were_asked_for() -> None:
    given = [said(1, "Both."), called(2, "c1"), called(3, "c2"), answered(4, "c2"), answered(5, "c1")]
    found = logs(FORMAT, *given)
    assert event_ids(found) == ["c1", "c2"]
    assert [each["meta"]["round_id"] for each in found] == ["m1", "m1"]
    assert [each["cognition"]["intent"] for each in found] == ["Both.", 'Bash {"command":"ls"}']


def test_a_result_waits_at_most_until_the_next_round_begins() -> None:
    given = [called(1, "c1"), called(2, "c2"), answered(3, "c2"), called(4, "c3", "m2"), answered(5, "c1")]
    assert event_ids(logs(FORMAT, *given, answered(6, "c3"))) == ["c2", "c1", "c3"]


def test_a_chain_without_an_agent_id_is_a_session_named_after_its_first_line() -> None:
    def sidechain(number: int, above: str | None, given: dict[str, Any]) -> dict[str, Any]:
        return {**given, "isSidechain": True, "uuid": f"s{number}", "parentUuid": above}

    given = [
        sidechain(1, None, asked(1, "One")),
        sidechain(2, None, asked(2, "Two")),
        sidechain(3, "s1", called(3, "c1")),
        sidechain(4, "s2", called(4, "c2", "m2")),
        sidechain(5, "s4", answered(5, "c2")),
        sidechain(6, "s3", answered(6, "c1")),
    ]
    found = logs(FORMAT, *given)
    assert [each["session_id"] for each in found] == ["s/s2", "s/s1"]
    assert [each["meta"]["parent_session_id"] for each in found] == ["s", "s"]
    assert all("user_turn" not in each["meta"] for each in found)


def test_a_circle_of_parents_is_read() -> None:
    given = [
        {**called(1, "c1"), "isSidechain": True, "uuid": "a", "parentUuid": "b"},
        {**answered(2, "c1"), "isSidechain": True, "uuid": "b", "parentUuid": "a"},
    ]
    assert event_ids(logs(FORMAT, *given)) == ["c1"]


def test_lines_that_a_fork_has_copied_are_no_records_and_name_its_parent() -> None:
    origin = {"forkedFrom": {"sessionId": "before", "messageUuid": "x"}}
    given = [called(1, "c1", **origin), answered(2, "c1") | origin, called(3, "c2", "m2"), answered(4, "c2")]
    [found] = logs(FORMAT, *given)
    assert found["event_id"] == "c2"
    assert found["meta"]["parent_session_id"] == "before"


def test_a_person_who_interrupts_or_corrects_and_a_compaction_stand_on_the_next_record() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "sessionId": "s"}
    given = [
        asked(1, "Fix the cart"),
        called(2, "c1"),
        answered(3, "c1"),
        asked(4, "[Request interrupted by user]"),
        asked(5, "Not there"),
        boundary,
        called(6, "c2", "m2"),
        answered(7, "c2"),
        asked(8, "Still wrong"),
        called(9, "c3", "m3"),
        answered(10, "c3"),
    ]
    found = logs(FORMAT, *given)
    assert [each["meta"].get("user_turn") for each in found] == ["task", "interruption", "correction"]
    assert [each["meta"].get("context_change") for each in found] == [None, "compacted", None]


def test_what_programs_write_in_the_users_place_is_no_goal_and_no_person() -> None:
    noise = ["<command-name>/clear</command-name>", "<system-reminder>Be brief</system-reminder>", "/model"]
    given = [asked(number, each) for number, each in enumerate(noise)]
    [found] = logs(FORMAT, *given, called(7, "c1"), answered(8, "c1"))
    assert "goal" not in found["cognition"]
    assert "user_turn" not in found["meta"]


def test_a_result_that_was_not_captured_is_null_and_an_empty_one_is_empty() -> None:
    empty, missing = answered(2, "c1", ""), answered(4, "c2")
    del missing["message"]["content"][0]["content"]
    found = logs(FORMAT, called(1, "c1"), empty, called(3, "c2", "m2"), missing)
    assert [each["action"].get("tool_output_summary") for each in found] == ["", None]


def test_a_message_whose_blocks_are_elsewhere_is_an_unknown_shape() -> None:
    given = line("assistant", 1, {"role": "model", "parts": [{"text": "I look."}]})
    assert reasons(FORMAT, given) == ["unknown_shape"]


def test_words_without_a_reason_to_stop_end_the_turn_if_the_user_speaks_next() -> None:
    found = logs(FORMAT, asked(1, "Do it"), said(2, "Done."), asked(3, "And this?"), said(4, "Sure."))
    assert event_ids(found) == ["u2", "u4"]
    assert [each["action"]["kind"] for each in found] == ["llm", "llm"]


def test_words_before_a_call_of_the_next_message_are_no_turn() -> None:
    found = logs(FORMAT, said(1, "Let me see."), called(2, "c1", "m2"), answered(3, "c1"))
    assert event_ids(found) == ["c1"]
    assert found[0]["cognition"]["intent"] == "Let me see."


def test_lines_that_a_resumed_session_copied_are_left_out() -> None:
    first = [called(1, "c1"), answered(2, "c1")]
    copied = [{**each, "sessionId": "s2"} for each in first]
    assert event_ids(logs(FORMAT, *first, *copied)) == ["c1"]


def test_a_sub_agent_is_a_session_of_its_own() -> None:
    side = {"isSidechain": True, "agentId": "a7"}
    found = logs(FORMAT, {**called(1, "c1"), **side}, {**answered(2, "c1"), **side})
    assert [each["session_id"] for each in found] == ["s/a7"]


def test_an_error_of_the_service_is_a_failed_turn_without_tokens() -> None:
    found = logs(FORMAT, said(1, "API Error: 529", model="<synthetic>"))
    assert (found[0]["action"]["kind"], found[0]["action"]["status"]) == ("llm", "failure")
    assert "state_delta" not in found[0]


def test_a_summary_and_notes_of_the_program_are_no_words_of_the_user() -> None:
    given = [asked(1, "note", isMeta=True), asked(2, "summary", isCompactSummary=True), asked(3, "Fix it")]
    found = logs(FORMAT, *given, called(4, "c1"), answered(5, "c1"))
    assert found[0]["cognition"]["goal"] == "Fix it"


def test_images_in_results_are_equal_if_they_are_the_same() -> None:
    images = [[{"type": "image", "source": {"data": data}}] for data in ("iVBO", "iVBP", "iVBO")]
    lines = [
        each
        for number, image in enumerate(images)
        for each in (called(2 * number, f"c{number}"), answered(2 * number + 1, f"c{number}", image))
    ]
    results = [each["action"]["tool_output_summary"] for each in logs(FORMAT, *lines)]
    assert all(each.startswith("[image ") for each in results)
    assert results[0] == results[2] != results[1]


def test_a_result_without_its_call_and_a_call_without_its_result_are_problems() -> None:
    assert reasons(FORMAT, answered(1, "c9"), called(2, "c1")) == ["orphan_result", "unanswered"]


REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
    "edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user."
)


def test_a_call_that_the_user_rejected_is_skipped() -> None:
    found = logs(FORMAT, called(1, "c1"), answered(2, "c1", REJECTED, is_error=True))
    assert found[0]["action"]["status"] == "skipped"
    assert "error" not in found[0]["action"]


def test_a_call_that_prints_what_a_rejection_says_has_not_failed() -> None:
    found = logs(FORMAT, called(1, "c1"), answered(2, "c1", REJECTED))
    assert found[0]["action"]["status"] == "success"


def test_the_last_words_of_an_input_end_its_turn_though_no_reason_to_stop_is_given() -> None:
    given = [asked(1, "Do it"), called(2, "c1"), answered(3, "c1"), said(4, "Done.", "m2", stop_reason=None)]
    found = logs(FORMAT, *given)
    assert event_ids(found) == ["c1", "u4"]
    assert found[1]["action"] == {"status": "success", "kind": "llm"}
    adapter = FORMAT.start("run.jsonl")
    for each in given:
        list(adapter.feed(orjson.dumps(each)))
    again = FORMAT.resume("run.jsonl", adapter.state())
    assert [each.value["event_id"] for each in again.close() if not isinstance(each, Problem)] == ["u4"]
