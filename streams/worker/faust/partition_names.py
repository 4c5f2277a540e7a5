"""Partitions as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby


def partition_names(partitions: Iterable[tuple[str, int]]) -> str:
    """Return partitions by topic, those in a row as a range.

    >>> partition_names([("b", 7), ("a", 0), ("a", 1), ("a", 2), ("a", 5)])
    'a 0-2 and 5, b 7'
    >>> partition_names([])
    'none'
    """
    ordered = sorted(set(partitions))
    by_topic = groupby(ordered, key=lambda partition: partition[0])
    return ", ".join(f"{topic} {_ranges([number for _, number in of])}" for topic, of in by_topic) or "none"


def _ranges(numbers: list[int]) -> str:
    rows = groupby(enumerate(numbers), key=lambda item: item[1] - item[0])
    ends = [(row[0][1], row[-1][1]) for row in (list(row) for _, row in rows)]
    return " and ".join(str(first) if first == last else f"{first}-{last}" for first, last in ends)
