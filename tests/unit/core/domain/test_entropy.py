"""Entropy in bits."""

import pytest

from streams.core.domain.entropy import shannon_bits


@pytest.mark.parametrize(
    ("counted", "bits"), [([1], 0), ([7], 0), ([1, 1], 1), ([4, 4], 1), ([2, 1, 1], 1.5), ([1] * 8, 3)]
)
def test_the_entropy_of_some_counts(counted: list[int], bits: float) -> None:
    assert shannon_bits(counted) == bits
