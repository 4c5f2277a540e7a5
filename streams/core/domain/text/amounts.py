"""Counts and amounts of money in words."""

from __future__ import annotations

from typing import Final


def count(number: int, noun: str) -> str:
    """Return how many there are, with the noun in the singular or the plural.

    >>> count(1, "session"), count(12_304, "record")
    ('1 session', '12,304 records')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_LEAST: Final = 0.0001
"""What a cost is rounded to where it is reported."""


def dollars(amount: float) -> str:
    """Return a cost: US dollars, which every log of an agent that names a cost gives.

    >>> dollars(0.0307), dollars(0.25), dollars(1234.5), dollars(0.0), dollars(0.00002)
    ('$0.0307', '$0.25', '$1,234.50', '$0', 'below $0.0001')
    """
    if amount >= 1:
        return f"${amount:,.2f}"
    if 0 < amount < _LEAST:
        return f"below ${_LEAST}"
    return f"${amount:.4f}".rstrip("0").rstrip(".")
