from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.codec import Codec, OutputFormat
from streams.core.domain.validation import known_fields, problems
from tests.stream import Stream, decision_log

FULL: dict[str, Any] = {
    "session_id": "s1",
    "event_id": "e1",
    "task_type": "fix",
    "meta": {"trace_id": "t", "timestamp": 0, "parent_step_id": "p", "cluster_id": "c"},
    "identity": {"agent_id": "a", "agent_type": "coder", "capability_version": "1"},
    "cognition": {
        "intent": "look",
        "goal": "g",
        "reasoning_chain": ["one", "größer"],
        "confidence_score": 0.5,
        "strategy_used": "plan",
        "entropy_score": 1,
    },
    "action": {
        "status": "success",
        "kind": "tool",
        "tool_call": "read",
        "tool_input": "{}",
        "target": "/f",
        "content_hash": "h",
        "error": "",
        "tool_output_summary": "ok",
    },
    "state_delta": {
        "added_to_memory": [],
        "tokens_consumed": 12,
        "cumulative_session_cost": 0.1,
        "progress_delta": -0.5,
        "context_quality": 1,
    },
    "control": {"hitl_required": False, "interrupt_signal": "stop", "is_terminal": True},
}
REQUIRED = [
    "session_id",
    "event_id",
    "meta.trace_id",
    "meta.timestamp",
    "identity.agent_id",
    "identity.agent_type",
    "cognition.intent",
    "action.status",
]
OPTIONAL_GROUPS = ["cognition", "state_delta", "control"]
REQUIRED_GROUPS = ["meta", "identity", "action"]
TEXTS = [
    "session_id",
    "event_id",
    "task_type",
    "meta.trace_id",
    "meta.parent_step_id",
    "meta.cluster_id",
    "identity.agent_id",
    "identity.agent_type",
    "identity.capability_version",
    "cognition.intent",
    "cognition.goal",
    "cognition.strategy_used",
    "action.status",
    "action.kind",
    "action.tool_call",
    "action.tool_input",
    "action.target",
    "action.content_hash",
    "action.error",
    "action.tool_output_summary",
    "control.interrupt_signal",
]
NUMBERS = [
    "cognition.confidence_score",
    "cognition.entropy_score",
    "state_delta.tokens_consumed",
    "state_delta.cumulative_session_cost",
    "state_delta.progress_delta",
    "state_delta.context_quality",
]
LISTS = ["cognition.reasoning_chain", "state_delta.added_to_memory"]
FLAGS = ["control.hitl_required", "control.is_terminal"]
PATHS = [*TEXTS, *NUMBERS, *LISTS, *FLAGS]
NOTHING = object()
HALF_A_PAIR = "\ud800"


def with_value(path: str, value: object) -> dict[str, Any]:
    """The full record with one field replaced, or removed."""
    record = deepcopy(FULL)
    *groups, name = path.split(".")
    holder = record[groups[0]] if groups else record
    if value is NOTHING:
        del holder[name]
    else:
        holder[name] = value
    return record


def paths(record: dict[str, Any]) -> set[str]:
    nested = {f"{group}.{name}" for group, part in record.items() if isinstance(part, dict) for name in part}
    return nested | {name for name, part in record.items() if not isinstance(part, dict)}


def assert_refused(record: dict[str, Any], *paths: str) -> None:
    assert known_fields(record) is None
    assert problems(record) == paths


def test_the_full_record_is_accepted_as_it_came() -> None:
    assert paths(FULL) == {*PATHS, "meta.timestamp"}
    assert known_fields(FULL) == FULL
    assert problems(FULL) == ()


def test_the_least_record_is_accepted_as_it_came() -> None:
    least = {
        "session_id": "s",
        "event_id": "e",
        "meta": {"trace_id": "", "timestamp": 0},
        "identity": {"agent_id": "", "agent_type": ""},
        "action": {"status": "pending"},
    }
    assert known_fields(least) == least


@pytest.mark.parametrize("path", REQUIRED)
@pytest.mark.parametrize("value", [NOTHING, None], ids=["missing", "null"])
def test_a_required_field_must_be_there(path: str, value: object) -> None:
    assert_refused(with_value(path, value), path)


@pytest.mark.parametrize("path", ["session_id", "event_id"])
def test_an_id_must_not_be_empty(path: str) -> None:
    assert_refused(with_value(path, ""), path)


@pytest.mark.parametrize("path", [path for path in PATHS if path not in REQUIRED])
@pytest.mark.parametrize("value", [NOTHING, None], ids=["missing", "null"])
def test_an_optional_field_need_not_be_there(path: str, value: object) -> None:
    record = with_value(path, value)
    known = known_fields(record)
    assert problems(record) == ()
    if path in FLAGS:
        record = with_value(path, NOTHING)
    assert known == record


@pytest.mark.parametrize("path", TEXTS)
@pytest.mark.parametrize("value", [1, 1.5, True, [], {}, b"x", HALF_A_PAIR], ids=repr)
def test_a_text_must_be_unicode_text(path: str, value: object) -> None:
    assert_refused(with_value(path, value), path)


@pytest.mark.parametrize("path", NUMBERS)
@pytest.mark.parametrize(
    "value",
    ["12", True, [], {}, float("nan"), float("inf"), float("-inf"), 2**64, 10**400],
    ids=lambda v: repr(v)[:9],
)
def test_a_number_must_be_finite(path: str, value: object) -> None:
    assert_refused(with_value(path, value), path)


@pytest.mark.parametrize("path", NUMBERS)
@pytest.mark.parametrize("value", [0, -1, 1.5, 1.7976931348623157e308, -(2**63), 2**63 - 1])
def test_any_finite_number_will_do(path: str, value: float) -> None:
    record = with_value(path, value)
    assert known_fields(record) == record


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_tokens_must_fit_a_long(value: int) -> None:
    assert_refused(with_value("state_delta.tokens_consumed", value), "state_delta.tokens_consumed")


@pytest.mark.parametrize("value", [-1, 2**63, 1.0, True, "0", [0]], ids=repr)
def test_the_timestamp_must_be_a_long_not_negative(value: object) -> None:
    assert_refused(with_value("meta.timestamp", value), "meta.timestamp")


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "value", ["x", {}, ("x",), 1, [1], ["x", None], [["x"]], ["x", HALF_A_PAIR]], ids=repr
)
def test_a_list_must_hold_texts(path: str, value: object) -> None:
    assert_refused(with_value(path, value), path)


@pytest.mark.parametrize("path", FLAGS)
@pytest.mark.parametrize("value", ["yes", 1, 0, [], {}], ids=repr)
def test_a_flag_must_be_a_boolean(path: str, value: object) -> None:
    assert_refused(with_value(path, value), path)


@pytest.mark.parametrize("status", ["maybe", "", "Success", " success"])
def test_the_status_must_be_one_of_four(status: str) -> None:
    assert_refused(with_value("action.status", status), "action.status")


@pytest.mark.parametrize("group", [*OPTIONAL_GROUPS, *REQUIRED_GROUPS])
@pytest.mark.parametrize("value", [[], "x", 1, False], ids=repr)
def test_a_group_must_be_a_record(group: str, value: object) -> None:
    assert_refused({**FULL, group: value}, group)


@pytest.mark.parametrize("group", OPTIONAL_GROUPS)
def test_an_optional_group_need_not_be_there(group: str) -> None:
    absent = {name: part for name, part in FULL.items() if name != group}
    assert known_fields(absent) == absent
    assert known_fields({**FULL, group: None}) == {**FULL, group: None}


@pytest.mark.parametrize("group", REQUIRED_GROUPS)
@pytest.mark.parametrize("missing", [True, False], ids=["missing", "null"])
def test_of_a_required_group_that_is_not_there_the_required_fields_are_named(
    group: str, missing: bool
) -> None:
    record = {name: part for name, part in FULL.items() if name != group}
    wanted = [path for path in REQUIRED if path.startswith(f"{group}.")]
    assert_refused(record if missing else {**record, group: None}, *wanted)


def test_all_problems_are_named_in_the_order_of_the_fields() -> None:
    record = {"control": {"is_terminal": 1}, "cognition": {"goal": 1}, "meta": 1, "task_type": 2}
    assert_refused(
        record,
        "session_id",
        "event_id",
        "task_type",
        "meta",
        "identity.agent_id",
        "identity.agent_type",
        "cognition.intent",
        "cognition.goal",
        "action.status",
        "control.is_terminal",
    )


def test_unknown_fields_of_any_group_are_left_out() -> None:
    record = deepcopy(FULL)
    for part in (record, *(part for part in record.values() if isinstance(part, dict))):
        part["colour"] = {"red": float("nan")}
    assert known_fields(record) == FULL


def test_an_empty_parent_step_becomes_null() -> None:
    record = with_value("meta.parent_step_id", "")
    assert known_fields(record) == with_value("meta.parent_step_id", None)
    assert record["meta"]["parent_step_id"] == ""


def test_absent_and_null_make_the_same_record_apart_from_the_nulls() -> None:
    nulls = with_value("state_delta.tokens_consumed", None) | {"task_type": None}
    known = known_fields(nulls)
    assert known is not None
    assert known["task_type"] is None
    assert known["state_delta"]["tokens_consumed"] is None


WRITERS = [
    Codec.bundled(output_format).encoder("decision-logs-enriched-value").encode
    for output_format in OutputFormat
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.sampled_from(["success", "s1", 2**63, 2**64, 10**400, HALF_A_PAIR]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(sorted(paths(FULL) | set(FULL))), JSON, max_size=4))
def test_what_is_accepted_has_no_problems_and_can_be_written(fields: dict[str, Any]) -> None:
    record = deepcopy(FULL)
    for path, value in fields.items():
        *groups, name = path.split(".")
        holder = record[groups[0]] if groups else record
        if isinstance(holder, dict):
            holder[name] = value
    before = repr(record)
    known = known_fields(record)
    assert (known is None) == bool(problems(record))
    assert repr(record) == before
    if known is not None:
        outcome = Stream().scored(record)
        for write in WRITERS:
            assert write(outcome.enriched)


def test_a_record_of_the_tests_is_valid() -> None:
    assert known_fields(decision_log()) == decision_log()
