"""Events of OpenHands: the folder is the session, times are local, and exit codes say what failed."""

from typing import Any

import pytest

from streams.core.domain.validation import problems
from streams.formats.adapters.openhands import FORMAT
from tests.unit.formats.adapters.reading import event_ids, logs, reasons

FILE = "conversations/25af/events/event-00002-e059ab06.json"


def event(kind: str, number: int, source: str = "agent", **more: Any) -> dict[str, Any]:
    time = f"2026-11-22T19:57:{number:02}.322500"
    return {"id": f"e{number}", "timestamp": time, "source": source, "kind": kind, **more}


def action(number: int, arguments: str = '{"command": "ls"}', **more: Any) -> dict[str, Any]:
    call = {"id": f"c{number}", "name": "terminal", "arguments": arguments}
    ids = {"tool_name": "terminal", "tool_call_id": f"c{number}", "tool_call": call}
    return (
        event("ActionEvent", number, thought=[], action={"command": "ls", "kind": "TerminalAction"}, **ids)
        | more
    )


def observed(number: int, call: int, **observation: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": "x"}]
    held = {"content": content, "is_error": False, **observation}
    return event("ObservationEvent", number, "environment", tool_call_id=f"c{call}", observation=held)


@pytest.mark.parametrize("name", [FILE, "conversations/25af/events", "conversations/25af", "25af.jsonl"])
def test_the_session_is_the_folder_of_the_conversation(name: str) -> None:
    assert logs(FORMAT, action(1), observed(2, 1), name=name)[0]["session_id"] == "25af"


def test_a_collection_names_the_folder_of_each_event() -> None:
    given = [each | {"_session": name} for name in ("s1", "s2") for each in (action(1), observed(2, 1))]
    assert [each["session_id"] for each in logs(FORMAT, *given)] == ["s1", "s2"]


def test_a_time_without_a_zone_is_read_as_utc() -> None:
    assert logs(FORMAT, action(3), observed(5, 3))[0]["meta"]["timestamp"] == 1795377425322


@pytest.mark.parametrize(
    ("observation", "status"),
    [
        ({"exit_code": 1}, "failure"),
        ({"exit_code": 0}, "success"),
        ({"exit_code": -1}, "success"),  # the command still runs
        ({"exit_code": None, "metadata": {"exit_code": 2}}, "failure"),
        ({"is_error": True}, "failure"),
        ({}, "success"),
    ],
)
def test_the_status_is_the_flag_else_the_exit_code(observation: dict[str, Any], status: str) -> None:
    assert logs(FORMAT, action(1), observed(2, 1, **observation))[0]["action"]["status"] == status


def test_an_error_of_the_agent_is_a_failure_and_a_rejected_call_is_skipped() -> None:
    error = event("AgentErrorEvent", 2, tool_call_id="c1", error="no such tool")
    rejected = event("UserRejectObservation", 4, "user", tool_call_id="c3", rejection_reason="no")
    found = [each["action"] for each in logs(FORMAT, action(1), error, action(3), rejected)]
    assert [each["status"] for each in found] == ["failure", "skipped"]
    assert found[0]["error"] == "no such tool"


def test_remarks_of_the_model_are_no_arguments() -> None:
    remarked = '{"command": "ls", "security_risk": "LOW", "summary": "once more"}'
    assert logs(FORMAT, action(1, remarked), observed(2, 1))[0]["action"]["tool_input"] == '{"command":"ls"}'
    own = action(1, remarked, action={"kind": "MCPToolAction", "data": {"summary": "once more"}})
    assert "once more" in logs(FORMAT, own, observed(2, 1))[0]["action"]["tool_input"]


def test_the_answer_of_the_agent_ends_its_turn() -> None:
    text = {"content": [{"type": "text", "text": "Done."}]}
    asked = event("MessageEvent", 1, "user", llm_message={"content": [{"type": "text", "text": "fix it"}]})
    found = logs(FORMAT, asked, action(2), observed(3, 2), event("MessageEvent", 4, llm_message=text))
    assert event_ids(found) == ["c2", "e4"]
    assert found[0]["cognition"]["goal"] == "fix it"
    assert found[1]["cognition"] == {"intent": "Done."}


def test_its_own_stop_of_a_loop_is_a_signal() -> None:
    stuck = event("ConversationStateUpdateEvent", 3, "environment", key="execution_status", value="stuck")
    found = logs(FORMAT, action(1), observed(2, 1), stuck)
    assert found[1]["control"] == {"interrupt_signal": "STUCK"}
    assert not problems(found[1])


def test_other_events_are_counted_not_reported() -> None:
    adapter = FORMAT.start(FILE)
    assert list(adapter.feed(b'{"id":"1","kind":"Condensation","source":"environment"}')) == []
    assert adapter.ignored == {"event Condensation": 1}
    assert reasons(FORMAT, {"kind": "ActionEvent", "id": "1"}, action(1)) == ["unknown_shape", "unanswered"]
