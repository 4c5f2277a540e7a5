"""How numbers are rounded and summed, and how evenly things are spread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from math import log2
from operator import add

_LARGEST_EXACT = 2.0**53
_LARGEST = 1.7976931348623157e308
# Below, a double times 10,000 is wrong by less than a millionth.
_SMALL = 1_000.0


def r4(x: float) -> float:
    """Round to 4 decimals, ties to even on the exact binary value, without negative zero (specification 1.3).

    Every reported float is rounded this way and every threshold is compared with the rounded value,
    so what is reported and what was decided never disagree.

    >>> r4(1 / 32), r4(2 / 3), r4(-0.00001)
    (0.0312, 0.6667, 0.0)
    """
    # `round` writes the decimals and reads them back. Unless a tie is near, a division gives the same double:
    # both are the nearest one to a whole number of ten-thousandths.
    if -_SMALL < x < _SMALL:
        scaled = x * 10_000.0
        whole = scaled // 1.0
        rest = scaled - whole
        if rest < 0.499:
            return whole / 10_000.0 + 0.0
        if rest > 0.501:
            return (whole + 1.0) / 10_000.0 + 0.0
    return round(x, 4) + 0.0


def added(numbers: Iterable[float]) -> float:
    """Return the sum, taken one by one from the first to the last (specification 1.3).

    From Python 3.12 on `sum` makes up for what rounding loses, so that it gives other results than before.

    >>> added([0.1] * 10)
    0.9999999999999999
    """
    return reduce(add, numbers, 0.0)


def within_doubles(x: float) -> float:
    """Return the number as it can be kept, written and summed on: what no double holds becomes the largest.

    Integers stay integers as long as a double holds each of them.

    >>> within_doubles(7), within_doubles(2**60 + 1), within_doubles(-1e308 * 10)
    (7, 1.152921504606847e+18, -1.7976931348623157e+308)
    """
    if -_LARGEST_EXACT <= x <= _LARGEST_EXACT:
        return x
    return max(-_LARGEST, min(float(x), _LARGEST))


def shannon_bits(counted: Sequence[int]) -> float:
    """Return -sum p log2 p over the shares of what was counted, unrounded, in bits.

    >>> shannon_bits([2, 2]), shannon_bits([2, 1, 1]), shannon_bits([5]) == 0
    (1.0, 1.5, True)
    """
    size = sum(counted)
    return -added([count / size * log2(count / size) for count in counted])
