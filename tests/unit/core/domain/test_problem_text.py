"""What is wrong with a record and what is allowed, without any text of the record."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.outcome import Rejected
from streams.core.domain.record import Record
from streams.core.domain.validation import _GROUPS, _TOP, allowed, explained, problems
from streams.core.pipeline import admit
from tests.stream import decision_log

PATHS = [*_TOP, *_GROUPS, *(f"{group}.{name}" for group, part in _GROUPS.items() for name in part.rules)]
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.just("hunter2"),
    st.just("\ud800"),
    st.just(b"hunter2"),
    st.lists(st.just("hunter2"), max_size=3),
    st.dictionaries(st.just("hunter2"), st.just("hunter2"), max_size=1),
)


def changed(path: str, value: object) -> dict[str, Any]:
    record: dict[str, Any] = copy.deepcopy(decision_log())
    part = record
    *groups, name = path.split(".")
    for group in groups:
        part = part.setdefault(group, {})
    part[name] = value
    return record


def said(record: dict[str, Any], key: str | None = "s1", timestamp: int | None = None) -> str:
    refused = admit(Record(0, 0, key, timestamp, record), DEFAULTS)
    assert isinstance(refused, Rejected)
    return refused.detail


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("action.status", "done", "text of 4 characters is not one of failure, pending, skipped, success"),
        ("action.status", None, "missing, must be one of failure, pending, skipped, success"),
        ("event_id", "", "empty text is not text of at least one character"),
        ("meta.timestamp", -1, "a negative whole number is not a whole number of milliseconds since 1970"),
        ("meta.timestamp", 1.5e12, "a number with a fraction or an exponent is not a whole number of "),
        ("meta.timestamp", "2026-01-01", "text of 10 characters is not a whole number of milliseconds"),
        ("cognition.confidence_score", float("nan"), "a number without an end is not a finite number"),
        ("cognition.reasoning_chain", ["a", 1], "a list of 2 values is not a list of texts"),
        ("control.is_terminal", 1, "a whole number is not true or false"),
        ("control", [], "a list of 0 values is not an object"),
        ("identity.agent_id", {"a": 1}, "an object of 1 field is not text"),
        ("action.error", "\ud800", "text that is no Unicode is not text"),
        ("task_type", True, "a boolean is not text"),
        ("state_delta.tokens_consumed", 2**70, "a whole number beyond 64 bits is not a finite number"),
    ],
)
def test_a_problem_names_what_came_and_what_is_allowed(path: str, value: object, sentence: str) -> None:
    assert said(changed(path, value)).startswith(f"{path}: {sentence}")


def test_the_key_and_the_future_have_sentences_too() -> None:
    record = decision_log()
    assert said(record, key=None) == "key: missing, must be the session_id of the record"
    assert said(record, key="other") == "key: text of 5 characters is not the session_id of the record"
    assert said(record, timestamp=0) == (
        "meta.timestamp: more than 3,600,000 ms (max_future_ms) ahead of the timestamp of the Kafka record"
    )


def test_many_problems_are_counted_so_that_a_header_stays_small() -> None:
    nothing = Record(0, 0, "s1", None, {})
    text = explained(problems({}), nothing, DEFAULTS)
    assert text.endswith("; and 2 more fields")
    assert len(text) < 1_000


@pytest.mark.parametrize("path", PATHS)
def test_every_field_says_what_it_may_hold(path: str) -> None:
    assert allowed(path)


@given(path=st.sampled_from(PATHS), value=ANYTHING, key=st.sampled_from([None, "hunter2", "s1"]))
def test_no_text_of_a_record_is_told(path: str, value: object, key: str | None) -> None:
    refused = admit(Record(0, 0, key, None, changed(path, value)), DEFAULTS)
    if isinstance(refused, Rejected):
        assert refused.detail.isprintable()
        assert "hunter2" not in refused.detail
