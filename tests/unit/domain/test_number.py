import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.domain.number import r4


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
