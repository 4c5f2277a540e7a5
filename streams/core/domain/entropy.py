"""How evenly things are spread."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from streams.core.domain.number import added


def shannon_bits(counted: Sequence[int]) -> float:
    """Return -sum p log2 p over the shares of what was counted, unrounded, in bits.

    >>> shannon_bits([2, 2]), shannon_bits([2, 1, 1]), shannon_bits([5]) == 0
    (1.0, 1.5, True)
    """
    size = sum(counted)
    return -added([count / size * log2(count / size) for count in counted])
