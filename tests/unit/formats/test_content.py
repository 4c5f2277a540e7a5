"""What of a record leaves the machine."""

import re
from typing import Any

import orjson
import pytest

from streams.core.domain.text.canonical import canonical
from streams.core.domain.text.result_text import normalise_result
from streams.core.domain.validation import problems
from streams.formats.content import Content, hashed, reduced
from tests.unit.formats.ingest.following import SAMPLES

SECRET = "hunter2 is the password"
RECORD: dict[str, Any] = {
    "session_id": "s1",
    "event_id": "e1",
    "meta": {"trace_id": "s1", "timestamp": 5, "note": SECRET},
    "identity": {"agent_id": "a", "agent_type": "coder"},
    "cognition": {"intent": SECRET, "goal": SECRET, "reasoning": SECRET},
    "action": {
        "status": "failure",
        "kind": "tool",
        "tool_call": "Bash",
        "tool_input": orjson.dumps({"command": SECRET}).decode(),
        "target": SECRET,
        "error": f"1 failed in 0.12s: {SECRET}",
    },
    "state_delta": {"tokens_consumed": 7, "memory": SECRET},
    "control": {"interrupt_signal": SECRET, "is_terminal": True},
    "extra": SECRET,
}
EVERY_EXPECTED = sorted(SAMPLES.glob("*/*.expected.jsonl"))


@pytest.mark.parametrize("content", [Content.HASH, Content.NONE])
def test_no_text_is_left_below_full_content(content: Content) -> None:
    left = orjson.dumps(reduced(RECORD, content)).decode()
    assert "hunter2" not in left
    assert not problems(reduced(RECORD, content))


def test_full_content_is_the_record() -> None:
    assert reduced(RECORD, Content.FULL) is RECORD


def test_what_says_nothing_of_a_text_stays() -> None:
    left: Any = reduced(RECORD, Content.NONE)
    assert left["action"]["tool_call"] == "Bash"
    assert left["action"]["status"] == "failure"
    assert left["state_delta"] == {"tokens_consumed": 7}
    assert left["control"] == {"is_terminal": True}
    assert left["cognition"] == {"intent": "Bash"}


def test_hashes_are_equal_if_the_texts_mean_the_same() -> None:
    action = RECORD["action"]
    other = {**RECORD, "action": {**action, "error": f"1 failed in 9.99s: {SECRET}"}}
    more = {**RECORD, "action": {**action, "error": f"2 failed in 0.12s: {SECRET}"}}
    one, same, different = (reduced(each, Content.HASH)["action"]["error"] for each in (RECORD, other, more))
    assert one == same != different


def test_a_hash_is_sixteen_decimal_digits_that_no_normalisation_changes() -> None:
    for number in range(1000):
        found = hashed(str(number))
        assert re.fullmatch(r"h:[0-9]{16}", found)
        assert normalise_result(found) == canonical(found) == found


def test_arguments_that_were_not_captured_stay_so_without_a_mark_of_their_own() -> None:
    record = {**RECORD, "action": {**RECORD["action"], "tool_input": '{"not_captured":"t/1"}'}}
    for content in (Content.HASH, Content.NONE):
        arguments = reduced(record, content)["action"]["tool_input"]
        assert list(orjson.loads(arguments)) == ["not_captured"]


def test_without_content_two_calls_never_have_equal_arguments() -> None:
    one, two = (reduced({**RECORD, "event_id": each}, Content.NONE)["action"]["tool_input"] for each in "ab")
    assert one != two


@pytest.mark.parametrize("path", EVERY_EXPECTED, ids=lambda path: f"{path.parent.name}-{path.name}")
@pytest.mark.parametrize("content", [Content.HASH, Content.NONE])
def test_every_record_of_a_sample_stays_valid_and_loses_its_texts(path: Any, content: Content) -> None:
    for row in path.read_bytes().splitlines():
        record = orjson.loads(row)
        left = orjson.dumps(reduced(record, content)).decode()
        assert not problems(orjson.loads(left))
        for name in ("tool_input", "error", "tool_output_summary"):
            if len(text := record["action"].get(name) or "") > 8:
                assert orjson.dumps(text)[1:-1].decode() not in left
