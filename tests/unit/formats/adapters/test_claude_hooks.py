"""The hooks of Claude Code: failures of their own kind, a clock of their own, the end of a session."""

from typing import Any

from streams.formats.adapters.claude_hooks import FORMAT
from tests.unit.formats.adapters.reading import event_ids, logs


def hook(event: str, call: str = "c1", **more: Any) -> dict[str, Any]:
    given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": call}
    return {"hook_event_name": event, "session_id": "s", **given, **more}


def test_a_failure_has_its_error_and_an_interrupted_call_is_skipped() -> None:
    failed = hook("PostToolUseFailure", "c1", error="no")
    interrupted = hook("PostToolUseFailure", "c2", error="no", is_interrupt=True)
    found = logs(FORMAT, hook("PreToolUse", "c1"), failed, interrupted)
    assert [each["action"]["status"] for each in found] == ["failure", "skipped"]


def test_output_and_errors_of_a_command_are_its_result() -> None:
    given = hook("PostToolUse", tool_response={"stdout": "out", "stderr": "warning"})
    assert logs(FORMAT, given)[0]["action"]["tool_output_summary"] == "out\nwarning"


def test_the_time_that_the_hook_adds_is_the_time_of_the_record() -> None:
    found = logs(FORMAT, hook("PostToolUse", tool_response="x", ts=1_795_376_349_382))
    assert found[0]["meta"]["timestamp"] == 1_795_376_349_382


def test_the_end_of_a_session_is_terminal() -> None:
    found = logs(FORMAT, hook("PostToolUse", tool_response="x"), hook("SessionEnd"))
    assert event_ids(found) == ["c1", "s/end"]
    assert found[1]["control"] == {"is_terminal": True}
