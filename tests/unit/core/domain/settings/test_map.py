import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.settings.map import thresholds, weights
from streams.core.domain.settings.range import whole

KINDS = thresholds(("tool", "default"), whole(2, 999))
SHARES = weights(("a", "b", "c"))


@pytest.mark.parametrize("value", [{"tool": 2, "default": 999}, {"default": 3, "quantum": 4, "tool": 5}])
def test_the_required_kinds_and_more(value):
    assert KINDS.read(value) == value
    assert KINDS.write(KINDS.read(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"tool": 2},
        {"tool": 1, "default": 999},
        {"tool": 2, "default": 1000},
        {"tool": 2.0, "default": 3},
        {"tool": True, "default": 3},
        {"tool": 2, "default": 3, "\ud800": 4},
        {"tool": 2, "default": 3, 4: 4},
        [("tool", 2), ("default", 3)],
        None,
    ],
)
def test_not_thresholds_per_kind(value):
    assert KINDS.read(value) is None


def test_a_change_of_the_document_afterwards_changes_nothing():
    document = {"tool": 2, "default": 3}
    read = KINDS.read(document)
    document["tool"] = 7
    assert read == {"tool": 2, "default": 3}


@pytest.mark.parametrize(
    "value",
    [{"a": 1, "b": 0, "c": 0}, {"a": 0.2, "b": 0.3, "c": 0.5}, {"a": 0.2, "b": 0.3, "c": 0.5000009}],
)
def test_weights_sum_to_1_within_a_millionth(value):
    assert SHARES.read(value) == value


@pytest.mark.parametrize(
    "value",
    [
        {"a": 0.2, "b": 0.3, "c": 0.500002},
        {"a": 0.5, "b": 0.5},
        {"a": 0.5, "b": 0.5, "c": 0, "d": 0},
        {"a": 1.5, "b": -0.5, "c": 0},
        {"a": True, "b": 0, "c": 0},
        {"a": "1", "b": 0, "c": 0},
        {},
        [],
        None,
    ],
)
def test_not_weights(value):
    assert SHARES.read(value) is None


@given(st.permutations(["a", "b", "c"]))
def test_weights_in_force_have_one_order(names):
    assert list(SHARES.read(dict(zip(names, (0.5, 0.25, 0.25), strict=True)))) == ["a", "b", "c"]


def test_kinds_are_taken_up_to_a_hundred():
    kinds = {"tool": 2, "default": 3, **{f"kind-{number}": 4 for number in range(98)}}
    assert KINDS.read(kinds) == kinds
    assert KINDS.read({**kinds, "one more": 4}) is None
