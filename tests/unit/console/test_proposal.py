"""A proposal: what was typed comes back as it was, and what is wrong is said at its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.console.proposal import MOST_CHANGES, as_typed, proposal, sent, typed_in
from streams.core.detectors.settings import DEFAULTS
from streams.core.errors import ConfigurationError
from streams.core.settings_document import RANGES, typed

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON)
def test_a_value_that_is_shown_is_read_as_the_same_value(value: object) -> None:
    assert typed(as_typed(value)) == value


@pytest.mark.parametrize("name", RANGES)
def test_every_setting_can_be_proposed_as_it_is(name: str) -> None:
    value = RANGES[name].write(getattr(DEFAULTS, name))
    found = proposal(DEFAULTS, typed_in([(name, as_typed(value))]))
    assert not found.problems
    assert not found.changed
    [field] = found.fields()
    assert field["typed"] == field["in_force"]
    assert not field["choices"] or field["typed"] in field["choices"]


def test_what_is_wrong_stands_at_its_field_and_what_is_wrong_together_apart() -> None:
    found = proposal(DEFAULTS, {"cycle_loop": "many", "identical_warn": 9, "identical_loop": 3})
    problems = {field["name"]: field["problem"] for field in found.fields()}
    assert problems["cycle_loop"] == "must be an integer from 2 to 1000"
    assert [each["settings"] for each in found.together()] == ["identical_warn, identical_loop"]
    assert not found.acceptable


def test_a_name_that_is_no_setting_is_refused_in_a_request_and_left_out_of_an_address() -> None:
    assert typed_in([("cycle_loops", "4"), ("tab", "x"), ("cycle_loop", "4")]) == {"cycle_loop": 4}
    assert proposal(DEFAULTS, sent('{"cycle_loops": 4}')).problems[0].problem.startswith("is not a setting")


@pytest.mark.parametrize("text", [None, "", "[]", "4", "{", "[" * 10_000])
def test_changes_that_are_no_object_are_refused_with_an_example(text: str | None) -> None:
    with pytest.raises(ConfigurationError, match="such as"):
        sent(text)


def test_there_is_a_limit_to_changes() -> None:
    with pytest.raises(ConfigurationError, match="at most"):
        sent("{" + ",".join(f'"a{number}":1' for number in range(MOST_CHANGES + 1)) + "}")
