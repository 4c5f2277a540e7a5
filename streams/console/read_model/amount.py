"""Tokens and costs as producers tell them: any numbers. Here they can be added, rounded and kept."""

from __future__ import annotations

from typing import Final

#: No agent uses more. Sums of thousands of these are still whole numbers of 64 bits.
_MOST: Final = 10**15


def amount(number: float) -> float:
    """Return a number, or the nearest one that somebody may have used; 0 for what is none.

    >>> amount(25_630), amount(0.25), amount(-3), amount(1e308), amount(float("-inf")), amount(float("nan"))
    (25630, 0.25, -3, 1000000000000000, -1000000000000000, 0)
    """
    return max(-_MOST, min(number, _MOST)) if number == number else 0  # noqa: PLR0124 - of all numbers, NaN
