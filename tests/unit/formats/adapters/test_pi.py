"""The log of pi: messages with calls in them, and results in messages of their own."""

from typing import Any

from streams.formats.adapters.adapter import CERTAIN
from streams.formats.adapters.pi import FORMAT
from tests.unit.formats.adapters.reading import event_ids, json_lines, logs, reasons

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


def test_calls_of_a_message_are_a_round_in_the_order_in_which_they_were_asked_for() -> None:
    given = [said(1, text("Both."), call("c1"), call("c2", command="ls")), result(2, "c2"), result(3, "c1")]
    found = logs(FORMAT, SESSION, *given)
    assert event_ids(found) == ["c1", "c2"]
    assert [each["meta"]["round_id"] for each in found] == ["m1", "m1"]
    assert [each["cognition"]["intent"] for each in found] == ["Both.", 'bash {"command":"ls"}']
    assert ["tokens_consumed" in each["state_delta"] for each in found] == [True, False]


def test_costs_add_up_and_cached_tokens_are_counted_apart() -> None:
    usage = {"totalTokens": 10, "cacheRead": 6, "cost": {"total": 0.25}}
    turns = [
        each
        for n in (1, 3)
        for each in (line(n, "assistant", [call(f"c{n}")], usage=usage), result(n + 1, f"c{n}"))
    ]
    assert [each["state_delta"] for each in logs(FORMAT, SESSION, *turns)] == [
        {"tokens_consumed": 4, "tokens_cached": 6, "cumulative_session_cost": cost} for cost in (0.25, 0.5)
    ]


def test_an_aborted_turn_and_a_compaction_stand_on_the_next_record() -> None:
    given = [said(1, text("I st"), stopReason="aborted"), {"type": "compaction", "id": "x"}]
    found = logs(FORMAT, SESSION, *given, said(2, call("c1")), result(3, "c1"))
    assert found[1]["meta"]["user_turn"] == "interruption"
    assert found[1]["meta"]["context_change"] == "compacted"


def test_a_session_that_was_branched_off_names_its_parent() -> None:
    header = SESSION | {"parentSession": "/srv/agent/sessions/--srv--/2026-01-01_up.jsonl"}
    [found] = logs(FORMAT, header, said(1, call("c1")), result(2, "c1"))
    assert found["meta"]["parent_session_id"] == "up"


def test_reading_a_file_in_pieces_is_not_reading_it_again() -> None:
    reads = [
        each
        for n, offset in enumerate((0, 200, 0))
        for each in (
            said(2 * n, call(f"c{n}", path="a", offset=offset)),
            result(2 * n + 1, f"c{n}", f"{offset}"),
        )
    ]
    hashes = [each["action"]["content_hash"] for each in logs(FORMAT, SESSION, *reads)]
    assert hashes[0] == hashes[2] != hashes[1]


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


def test_a_session_of_version_1_has_neither_a_version_nor_ids() -> None:
    header = {"type": "session", "id": "s", "timestamp": "2025-11-22T20:02:00.000Z", "cwd": "/srv"}
    asked, called, answered = line(1, "user", "Fix it"), said(2, call("c1")), result(3, "c1")
    for each in (asked, called, answered):
        del each["id"], each["parentId"]
    called["message"]["usage"] = {"input": 3, "output": 2, "cacheRead": 9, "cacheWrite": 1}
    assert FORMAT.sniff(json_lines(header, asked), "a.jsonl") == CERTAIN
    [found] = logs(FORMAT, header | {"branchedFrom": "/srv/2025_up.jsonl"}, asked, called, answered)
    assert (found["session_id"], found["meta"]["parent_session_id"]) == ("s", "up")
    assert found["state_delta"] == {"tokens_consumed": 6, "tokens_cached": 9}


def test_a_command_that_a_person_stopped_is_skipped_whatever_it_had_printed() -> None:
    for words in ("Command aborted", "building\n\nCommand aborted"):
        stopped = result(2, "c1", words, isError=True)
        [found] = logs(FORMAT, SESSION, said(1, call("c1")), stopped)
        assert (found["action"]["status"], found["meta"]["user_turn"]) == ("skipped", "interruption")
    failed = result(2, "c1", "see Command aborted\n\nCommand exited with code 1", isError=True)
    assert logs(FORMAT, SESSION, said(1, call("c1")), failed)[0]["action"]["status"] == "failure"
