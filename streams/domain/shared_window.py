"""The newest items of a session, equal items stored once.

A window is two lists: ``items`` holds the different items, ``order`` an index into it for each place, oldest
first, or `NOTHING` for a place without an item. A place in ``items`` that nothing points at any more is null
and is taken by the next new item. Both are JSON-able as they are, so a state that holds them needs no
conversion to be stored, and a session that repeats itself stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

NOTHING = -1

T = TypeVar("T")


def append(
    items: Sequence[T | None], order: Sequence[int], item: T | None, size: int
) -> tuple[Sequence[T | None], Sequence[int]]:
    """Return the window with one more item at its end, cut to the newest ``size``. Changes nothing in place.

    >>> items, order = append([], [], "a", size=2)
    >>> items, order = append(items, order, "a", size=2)
    >>> items, order = append(items, order, "b", size=2)
    >>> items, order
    (['a', 'b'], [0, 1])
    >>> append(items, order, "c", size=2)
    (['c', 'b'], [1, 0])
    """
    # The place of the new item holds NOTHING until it is known, so a place without an item is never "gone".
    kept = [*order, NOTHING]
    while len(kept) > size:
        gone = kept.pop(0)
        if gone not in kept:
            items = [*items]
            items[gone] = None
    if item is None:
        return items, kept
    if item in items:
        kept[-1] = items.index(item)
    elif None in items:
        kept[-1] = free = items.index(None)
        items = [*items]
        items[free] = item
    else:
        kept[-1] = len(items)
        items = [*items, item]
    return items, kept


def counts(order: Sequence[int]) -> dict[int, int]:
    """Return how often each item stands in the window, in the order of first occurrence.

    >>> counts([0, 2, 0, -1, 1])
    {0: 2, 2: 1, 1: 1}
    """
    counted: dict[int, int] = {}
    for index in order:
        if index != NOTHING:
            counted[index] = counted.get(index, 0) + 1
    return counted
