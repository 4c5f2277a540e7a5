"""The one rounding every reported number goes through."""

from __future__ import annotations


def r4(x: float) -> float:
    """Round to 4 decimals, ties to even on the exact binary value, without negative zero (SEMANTICS 1.3).

    Every reported float is rounded this way and every threshold is compared with the rounded value,
    so what is reported and what was decided never disagree.

    >>> r4(1 / 32), r4(2 / 3), r4(-0.00001)
    (0.0312, 0.6667, 0.0)
    """
    return round(x, 4) + 0.0
