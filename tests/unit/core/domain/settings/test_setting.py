import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.settings.general import NodeStateSource
from streams.core.domain.settings.setting import (
    OrderedGroup,
    declared_by,
    flag,
    globs,
    number,
    setting,
    subset,
    thresholds,
    weights,
    whole,
    word,
)
from streams.core.settings_document import ORDERED_GROUPS


@dataclass(frozen=True, kw_only=True)
class Base:
    version: int = 0
    limit: int = setting(3, whole(1, 9), "How many.")


@dataclass(frozen=True, kw_only=True)
class Own(Base):
    limits: Mapping[str, int] = setting(MappingProxyType({"a": 1}), whole(1, 9), "How many of each.")


def test_a_class_declares_its_own_settings_and_none_of_its_bases() -> None:
    assert list(declared_by(Base)) == ["limit"]
    assert list(declared_by(Own)) == ["limits"]
    assert declared_by(object) == {}


def test_range_and_meaning_stand_beside_the_default() -> None:
    found = declared_by(Base)["limit"]
    assert (found.meaning, found.allowed.wanted) == ("How many.", "an integer from 1 to 9")
    assert Base().limit == 3


def test_a_map_is_a_default_that_two_equal_values_share_a_hash_with() -> None:
    assert Own().limits == {"a": 1}
    assert hash(Own()) == hash(Own(limits=MappingProxyType({"b": 2})))
    assert hash(Own()) != hash(replace(Own(), limit=4))


# specification 4.2: loop <= warning, clear <= saturation, the four drift thresholds, each warn <= loop.
PAIRS = [
    ("handover_warn", "handover_loop"),
    ("entropy_loop_threshold", "entropy_warning_threshold"),
    ("pattern_clear", "pattern_saturation"),
    ("identical_warn", "identical_loop"),
    ("identical_failing_warn", "identical_failing_loop"),
    ("cycle_warn", "cycle_loop"),
    ("stuck_warn", "stuck_loop"),
    ("waiting_warn_minutes", "waiting_loop_minutes"),
]
DRIFT = ("nudge_threshold", "replan_threshold", "checkpoint_threshold", "stop_threshold")


def group_of(*names: str) -> OrderedGroup:
    return next(group for group in ORDERED_GROUPS if group.names == names)


def test_the_defaults_hold():
    assert all(group.holds(DEFAULTS) for group in ORDERED_GROUPS)


@pytest.mark.parametrize(("low", "high"), PAIRS)
def test_a_pair_must_not_fall(low, high):
    group = group_of(low, high)
    assert group.holds(replace(DEFAULTS, **{low: 7, high: 8}))
    assert group.holds(replace(DEFAULTS, **{low: 8, high: 8}))
    assert not group.holds(replace(DEFAULTS, **{low: 9, high: 8}))
    assert group.wanted == f"in the order {low} <= {high}"


@pytest.mark.parametrize("second", DRIFT[1:])
def test_the_drift_thresholds_must_rise(second):
    group = group_of(*DRIFT)
    first = DRIFT[DRIFT.index(second) - 1]
    assert not group.holds(replace(DEFAULTS, **{second: getattr(DEFAULTS, first)}))
    assert group.holds(replace(DEFAULTS, **{second: getattr(DEFAULTS, first) + 0.01}))
    assert group.wanted == "in the order " + " < ".join(DRIFT)


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


@pytest.mark.parametrize("value", [1, 5, 10])
def test_an_integer_within_the_range(value):
    assert whole(1, 10).read(value) == value


@pytest.mark.parametrize("value", [0, 11, 5.0, "5", True, None, [5], pytest.param(10**5000, id="huge")])
def test_not_an_integer_within_the_range(value):
    assert whole(1, 10).read(value) is None


@pytest.mark.parametrize("value", [0, 1, 0.0, 0.25, 1.0])
def test_a_number_within_the_range(value):
    read = number(0, 1).read(value)
    assert read == value
    assert isinstance(read, float)


@pytest.mark.parametrize(
    "value",
    [
        -0.1,
        1.0001,
        True,
        False,
        "0.5",
        None,
        math.nan,
        math.inf,
        -math.inf,
        pytest.param(10**5000, id="huge"),
    ],
)
def test_not_a_number_within_the_range(value):
    assert number(0, 1).read(value) is None


def test_the_low_end_may_be_left_out():
    assert number(0, 1, above=True).read(0) is None
    assert number(0, 1, above=True).read(-0.0) is None
    assert number(0, 1, above=True).read(5e-324) == 5e-324


def test_a_number_in_force_has_no_negative_zero():
    assert math.copysign(1, number(0, 1).read(-0.0)) == 1


@pytest.mark.parametrize(
    ("value", "read"), [(True, True), (False, False), (1, None), (0, None), ("true", None)]
)
def test_a_flag_is_true_or_false(value, read):
    assert flag().read(value) is read


def test_a_word_of_an_enumeration_becomes_its_member():
    assert word(NodeStateSource).read("max") is NodeStateSource.max
    assert type(word(NodeStateSource).write(NodeStateSource.max)) is str


@pytest.mark.parametrize("value", ["Max", "", None, 1, ["max"]])
def test_not_one_of_the_words(value):
    assert word(NodeStateSource).read(value) is None


@pytest.mark.parametrize("value", [[], ["a"], ["b", "a"]])
def test_any_subset_in_any_order(value):
    assert subset(("a", "b")).read(value) == tuple(value)


@pytest.mark.parametrize("value", [["a", "a"], ["c"], "a", {"a": 1}, [["a"]], [None], None])
def test_not_a_subset(value):
    assert subset(("a", "b")).read(value) is None


@pytest.mark.parametrize("value", [["read_*", "read_*"], ["a", 1], "read_*", ["\ud800"], None])
def test_not_a_list_of_patterns(value):
    assert globs().read(value) is None


@given(st.lists(st.text(), unique=True))
def test_any_list_of_different_texts_is_a_list_of_patterns(value):
    assert globs().write(globs().read(value)) == value


@pytest.mark.parametrize(
    ("allowed", "wanted"),
    [
        (whole(1, 10), "an integer from 1 to 10"),
        (number(0, 1), "a number from 0 to 1"),
        (number(0, 1, above=True), "a number above 0 and at most 1"),
        (word(NodeStateSource), "one of uniqueness, verdict, max"),
        (subset(("a", "b")), "a list, without repetition, of a, b"),
    ],
)
def test_says_what_it_takes(allowed, wanted):
    assert allowed.wanted == wanted
