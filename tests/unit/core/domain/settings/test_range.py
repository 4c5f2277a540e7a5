import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.settings.general import NodeStateSource
from streams.core.domain.settings.range import flag, globs, number, subset, whole, word


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
