"""Counts in words."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """Return how many there are, with the noun in the singular or the plural.

    >>> count(1, "session"), count(12_304, "record")
    ('1 session', '12,304 records')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
