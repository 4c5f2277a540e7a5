import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.number import added, r4, shannon_bits, within_doubles

HALVES = st.integers(-21_000_000, 21_000_000)
SIGNS = st.sampled_from([-1, 1])


@pytest.mark.parametrize(
    ("x", "rounded"),
    [
        (1 / 32, 0.0312),
        (3 / 32, 0.0938),
        (2 / 3, 0.6667),
        (5 / 9, 0.5556),
        (1.0, 1.0),
        (-1 / 3, -0.3333),
    ],
)
def test_rounds_to_four_decimals_with_ties_to_even(x, rounded):
    assert r4(x) == rounded


@pytest.mark.parametrize("x", [-0.0, -0.00001, -1e-300])
def test_negative_zero_becomes_zero(x):
    assert math.copysign(1, r4(x)) == 1
    assert r4(x) == 0


@given(st.floats(-1e6, 1e6))
def test_a_rounded_number_stays_and_lies_near(x):
    assert r4(r4(x)) == r4(x)
    assert abs(r4(x) - x) <= 0.00005 + 1e-9


TIES = st.builds(lambda halves, ulps: math.nextafter(halves / 20_000, math.inf * ulps), HALVES, SIGNS)


@given(st.floats(allow_nan=False) | st.floats(-1001, 1001) | HALVES.map(lambda n: n / 20_000) | TIES)
def test_rounds_as_python_does(x):
    rounded = round(x, 4)
    assert r4(x) == rounded
    assert math.copysign(1, r4(x)) == math.copysign(1, rounded + 0.0)


class TestWithinDoubles:
    @pytest.mark.parametrize("x", [0, 2**53, -(2**53), 0.1, 1.7976931348623157e308])
    def test_what_a_double_holds_stays_as_it_is(self, x):
        assert within_doubles(x) == x
        assert type(within_doubles(x)) is type(x)

    @pytest.mark.parametrize("x", [2**53 + 1, 2**64 + 1, -(2**70)])
    def test_larger_integers_become_doubles(self, x):
        assert within_doubles(x) == float(x)
        assert type(within_doubles(x)) is float

    @pytest.mark.parametrize("sign", [1, -1])
    def test_what_is_too_large_becomes_the_largest(self, sign):
        assert within_doubles(sign * math.inf) == sign * sys.float_info.max


class TestAdded:
    def test_each_is_added_to_the_sum_of_those_before(self):
        # Exactly added up, and rounded once, these are 1.0 and 2.0.
        assert added([0.1] * 10) == 0.9999999999999999
        assert added([1.0, 1e100, 1.0, -1e100]) == 0.0

    def test_nothing_adds_up_to_zero(self):
        assert added([]) == 0


@pytest.mark.parametrize(
    ("counted", "bits"), [([1], 0), ([7], 0), ([1, 1], 1), ([4, 4], 1), ([2, 1, 1], 1.5), ([1] * 8, 3)]
)
def test_the_entropy_of_some_counts(counted: list[int], bits: float) -> None:
    assert shannon_bits(counted) == bits
