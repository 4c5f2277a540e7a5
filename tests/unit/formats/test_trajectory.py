"""Recorded trajectories as decision logs."""

from typing import Any

import orjson
import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.outcome import Rejected
from streams.core.domain.record import Record
from streams.core.pipeline import admit
from streams.formats import trajectory
from streams.formats.adapters.conversation import EPOCH_MS
from streams.formats.trajectory import decision_log

EVENT: dict[str, Any] = {
    "session_id": "set::task/7",
    "agent_id": "coder-1",
    "seq": 3,
    "intent": "look at the parser",
    "tool_call": "Read",
    "arguments": {"file_path": "src/parser.py"},
    "action_status": "success",
    "result": "def parse(): ...",
    "result_len": 16,
    "result_md5": "0f343b0931126a20f133d67c2b018a3b",
    "tokens": 812,
    "timestamp": None,
}


def test_an_event_becomes_a_decision_log_that_is_accepted() -> None:
    log = decision_log(EVENT)
    assert log == {
        "session_id": "set::task/7",
        "event_id": "set::task/7/3",
        "meta": {"trace_id": "set::task/7", "timestamp": EPOCH_MS + 30_000},
        "identity": {"agent_id": "coder-1", "agent_type": "set"},
        "cognition": {"intent": "look at the parser"},
        "action": {
            "status": "success",
            "tool_call": "Read",
            "tool_input": '{"file_path":"src/parser.py"}',
            "target": "src/parser.py",
            "content_hash": "0f343b0931126a20f133d67c2b018a3b",
            "error": None,
            "tool_output_summary": "def parse(): ...",
        },
        "state_delta": {"tokens_consumed": 812},
    }
    assert not isinstance(admit(Record(0, 0, "set::task/7", None, log), DEFAULTS), Rejected)


@pytest.mark.parametrize(
    ("reported", "status"),
    [
        ("success", "success"),
        ("OK", "success"),
        ("failure", "failure"),
        ("error", "failure"),
        ("timeout", "failure"),
        ("running", "pending"),
        ("cancelled", "skipped"),
        ("", "pending"),
        (None, "pending"),
        ("no such word", "pending"),
    ],
)
def test_every_word_for_a_status_becomes_one_of_the_four(reported: str | None, status: str) -> None:
    assert decision_log({**EVENT, "action_status": reported})["action"]["status"] == status


@pytest.mark.parametrize(
    ("reported", "timestamp"),
    [
        ("2026-04-01T13:57:30.083Z", 1_775_051_850_083),
        ("2026-04-01T15:57:30.083+02:00", 1_775_051_850_083),
        ("2026-04-01T13:57:30.083", 1_775_051_850_083),
        (1_775_051_850_083, 1_775_051_850_083),
        (None, EPOCH_MS + 30_000),
        ("", EPOCH_MS + 30_000),
    ],
)
def test_time_is_the_reported_one_or_ten_seconds_a_step(reported: object, timestamp: int) -> None:
    assert decision_log({**EVENT, "timestamp": reported})["meta"]["timestamp"] == timestamp


def test_a_time_that_cannot_be_read_is_left_for_the_check_to_refuse() -> None:
    log = decision_log({**EVENT, "timestamp": "yesterday"})
    assert admit(Record(0, 0, "set::task/7", None, log), DEFAULTS) == Rejected(("meta.timestamp",))


def test_the_result_of_a_failure_is_its_error() -> None:
    action = decision_log({**EVENT, "action_status": "failure", "result": "no such file"})["action"]
    assert (action["error"], action["tool_output_summary"], action["content_hash"]) == (
        "no such file",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "target"),
    [
        ("Edit", {"file_path": "a.py", "old_string": "x"}, "a.py"),
        ("str_replace_editor", {"command": "view", "path": "/repo/b.py"}, "/repo/b.py"),
        ("read_range", {"filepath": "C.java", "startline": 1}, "C.java"),
        ("open", 'open "setup.py"', "setup.py"),
        ("open", "open src/fields.py 1474", "src/fields.py"),
        ("create", "create reproduce.py", "reproduce.py"),
        ("edit", "edit 1:1\nfoo\nend_of_edit", None),
        ("Bash", {"command": "cat a.py"}, None),
        ("search", "search[Milan]", None),
        ("respond", {"content": "path"}, None),
        ("Read", {"file_path": 7}, None),
        ("Read", None, None),
    ],
)
def test_the_target_is_the_file_the_call_is_about(tool: str, arguments: object, target: str | None) -> None:
    assert decision_log({**EVENT, "tool_call": tool, "arguments": arguments})["action"]["target"] == target


@pytest.mark.parametrize(
    ("tool", "known"), [("Read", True), ("open", True), ("Write", False), ("Bash", False), ("search", False)]
)
def test_only_what_was_read_tells_the_version_of_a_file(tool: str, known: bool) -> None:
    action = decision_log({**EVENT, "tool_call": tool})["action"]
    assert (action["content_hash"] is not None) is known


def test_text_arguments_stay_as_they_are() -> None:
    assert decision_log({**EVENT, "arguments": "Search[Milan]"})["action"]["tool_input"] == "Search[Milan]"


def test_a_session_without_a_data_set_has_the_agent_as_its_type() -> None:
    assert decision_log({**EVENT, "session_id": "task-7"})["identity"]["agent_type"] == "coder-1"


def test_an_empty_tool_is_no_tool() -> None:
    assert decision_log({**EVENT, "tool_call": ""})["action"]["tool_call"] is None


@pytest.mark.parametrize("name", ["session_id", "agent_id"])
def test_what_identifies_the_event_is_not_made_up(name: str) -> None:
    log = decision_log({key: value for key, value in EVENT.items() if key != name})
    refused = admit(Record(0, 0, log["session_id"], None, log), DEFAULTS)
    assert isinstance(refused, Rejected)


def test_a_line_that_is_no_event_is_undecodable() -> None:
    [good], [bad] = trajectory.read(orjson.dumps(EVENT)), trajectory.read(b"{")
    assert good.key == "set::task/7"
    assert (bad.value, bad.problem, bad.raw) == (None, "undecodable", b"{")


@pytest.mark.parametrize(
    "field", ["session_id", "seq", "action_status", "arguments", "intent", "tool_call", "result"]
)
@pytest.mark.parametrize("depth", [300, 1020])
def test_nesting_to_the_limit_of_json_is_refused_like_any_other_wrong_type(field: str, depth: int) -> None:
    line = orjson.dumps({**EVENT, field: "DEEP"}).replace(b'"DEEP"', b"[" * depth + b"]" * depth)
    [entry] = trajectory.read(line)
    assert entry.value is not None
    outcome = admit(Record(0, 0, entry.key, None, entry.value), DEFAULTS)
    assert isinstance(outcome, Rejected) == (field != "action_status")
