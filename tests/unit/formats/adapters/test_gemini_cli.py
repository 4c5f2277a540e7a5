"""The log of Gemini CLI: messages that are written twice, and failures that are called a success."""

import json
from pathlib import Path
from typing import Any

import orjson

from streams.formats.adapters import gemini_chat
from streams.formats.adapters.adapter import CERTAIN, NO, Problem
from streams.formats.adapters.gemini_cli import FORMAT
from streams.formats.reading import entries
from streams.formats.sources import known_places
from tests.unit.formats.adapters.reading import event_ids, json_lines, logs, reasons

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


def test_changes_of_the_list_repeat_what_is_there() -> None:
    done = message("m1", "I look.", toolCalls=[call("c1", "x")])
    changes = [{"$set": {"messages": [user("Fix it"), done]}}, {"$set": {"lastUpdated": "2026-11-22"}}]
    given = [user("Fix it"), message("m1", "I look."), changes[1], done, *changes, message("m2", "Done.")]
    adapter = FORMAT.start("session.jsonl")
    found = [each for value in (START, *given) for each in adapter.feed(orjson.dumps(value))]
    found += adapter.close()
    assert [each.value["event_id"] for each in found] == ["c1", "m2"]
    assert [each.value["state_delta"]["tokens_consumed"] for each in found] == [9, 9]
    assert adapter.ignored == {"change of the list": 3}


def chat(*messages: Any) -> dict[str, Any]:
    return {**START, "startTime": "2025-09-01T00:00:00Z", "lastUpdated": "x", "messages": list(messages)}


def test_an_old_chat_in_one_document_gives_the_records_of_its_log() -> None:
    failed = "Output: no\nExit Code: 1"
    given = [user("Fix it"), message("m1", "I look.", toolCalls=[call("c1", failed)]), message("m2", "Done.")]
    document = json.dumps(chat(*given), indent=2).encode()
    found = logs(gemini_chat.FORMAT, document)
    assert found == logs(FORMAT, START, *given)
    assert event_ids(found) == ["c1", "m2"]
    assert found[0]["action"]["status"] == "failure"
    assert (FORMAT.sniff(document, ""), gemini_chat.FORMAT.sniff(document, "")) == (NO, CERTAIN)


def test_an_old_chat_that_is_longer_than_what_is_sniffed_is_recognised() -> None:
    document = json.dumps(chat(*(message(f"m{number}", "word " * 90) for number in range(400))), indent=2)
    head = document.encode()[:65536]
    assert (FORMAT.sniff(head, ""), gemini_chat.FORMAT.sniff(head, "")) == (NO, CERTAIN)


def test_an_old_chat_that_has_grown_gives_the_same_ids_again() -> None:
    first, second = message("m1", toolCalls=[call("c1", "x")]), message("m2", toolCalls=[call("c2", "x")])
    assert event_ids(logs(gemini_chat.FORMAT, chat(first), chat(first, second))) == ["c1", "c1", "c2"]


def test_what_is_no_message_of_an_old_chat_is_reported_and_other_types_are_counted() -> None:
    adapter = gemini_chat.FORMAT.start("session.json")
    found = list(adapter.feed(orjson.dumps(chat(7, {"type": "info", "content": "Update available"}))))
    assert [each.reason for each in found if isinstance(each, Problem)] == ["unknown_shape"]
    assert adapter.ignored == {"type info": 1}
    assert reasons(gemini_chat.FORMAT, {"sessionId": 7, "messages": []}) == ["unknown_shape"]


def test_both_kinds_of_chats_are_found_in_the_home_folder(tmp_path: Path) -> None:
    folder = tmp_path / ".gemini" / "tmp" / "p" / "chats"
    folder.mkdir(parents=True)
    (folder / "session-1.json").write_bytes(orjson.dumps(chat(message("m1", toolCalls=[call("c1", "x")]))))
    (folder / "session-2.jsonl").write_bytes(
        json_lines(START, message("m1", toolCalls=[call("c2", "x")])),
    )
    [place] = [each for each in known_places(tmp_path) if each.files]
    found = [entry.value for entry in entries(place.files) if entry.value is not None]
    assert event_ids(found) == ["c1", "c2"]


def test_a_call_that_has_ended_is_a_record_whatever_the_shape_of_its_result() -> None:
    shapes = [("error", "no"), ("error", {"text": "no"}), ("error", None), ("cancelled", None)]
    given = [
        {"id": f"c{n}", "name": "run", "args": {}, "status": status, "result": result}
        for n, (status, result) in enumerate(shapes)
    ]
    actions = [each["action"] for each in logs(FORMAT, START, message("m1", toolCalls=given))]
    assert [each["status"] for each in actions] == ["failure", "failure", "failure", "skipped"]
    assert [each.get("error") for each in actions] == ["no", "no", None, None]


def test_an_error_in_a_response_is_a_failure_though_no_status_says_so() -> None:
    given = call("c1", "x", "?") | {"result": [{"functionResponse": {"response": {"error": "no"}}}]}
    assert logs(FORMAT, START, message("m1", toolCalls=[given]))[0]["action"]["status"] == "failure"


def test_a_call_without_an_id_is_a_problem_and_one_that_runs_is_not() -> None:
    runs = {"id": "c1", "name": "run", "args": {}, "status": "executing"}
    assert reasons(FORMAT, START, message("m1", toolCalls=[runs])) == []
    assert reasons(FORMAT, START, message("m1", toolCalls=[runs | {"id": ""}])) == ["unknown_shape"]


def test_a_sub_agent_names_the_session_above_and_is_asked_by_no_person() -> None:
    given = [START | {"kind": "subagent"}, user("Look"), message("m1", toolCalls=[call("c1", "x")])]
    [found] = logs(FORMAT, *given, name="u/.gemini/tmp/p/chats/above/s.jsonl")
    assert (found["session_id"], found["meta"]["parent_session_id"]) == ("s", "above")
    assert found["cognition"]["goal"] == "Look"
    assert "user_turn" not in found["meta"]
