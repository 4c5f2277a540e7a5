"""Naming the fields that do not fit a schema."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.bundled import latest
from schemas.misfits import misfits
from schemas.numbers import SUBJECT_NUMBERS
from tests.unit.schemas.samples import fullest, records, smallest

ENRICHED = latest("decision-logs-enriched-value").definition


@pytest.mark.parametrize("subject", SUBJECT_NUMBERS)
@given(data=st.data())
def test_a_record_of_the_schema_fits(subject, data):
    schema = latest(subject).definition
    assert misfits(schema, data.draw(records(schema))) == ()


@pytest.mark.parametrize("make", [smallest, fullest])
def test_the_smallest_and_the_fullest_fit(make):
    assert misfits(ENRICHED, make(ENRICHED)) == ()


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("session_id", None, "session_id: not string"),
        ("meta", [], "meta: not a record"),
        ("meta.timestamp", 1.0, "meta.timestamp: not long"),
        ("meta.timestamp", True, "meta.timestamp: not long"),
        ("cognition.reasoning_chain", ["a", 1], "cognition.reasoning_chain.1: not string"),
        ("cognition.reasoning_chain", "a", "cognition.reasoning_chain: not a list"),
        ("cognition.entropy_score", True, "cognition.entropy_score: not double"),
        ("control.is_terminal", None, "control.is_terminal: not boolean"),
        ("eddy.patterns.ema", {"read_loop": "x"}, "eddy.patterns.ema.read_loop: not double"),
        ("eddy.patterns.ema", [], "eddy.patterns.ema: not a map"),
        ("eddy.uniqueness.repeated_pattern.colour", 1, "eddy.uniqueness.repeated_pattern.colour: unknown"),
        ("eddy.events", [{}], "eddy.events.0.id: missing"),
    ],
)
def test_the_path_is_named(path, value, found):
    record = fullest(ENRICHED)
    *groups, name = path.split(".")
    inner = record
    for group in groups:
        inner = inner[group]
    inner[name] = value
    assert found in misfits(ENRICHED, record)


def test_types_are_known_where_an_absent_field_would_have_named_them():
    record = smallest(ENRICHED)
    record["eddy"] = smallest(ENRICHED["fields"][-1]["type"][1])
    record["eddy"]["events"] = fullest(ENRICHED)["eddy"]["events"]
    assert misfits(ENRICHED, record) == ()
