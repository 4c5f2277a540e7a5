"""The newest items of a session, equal items stored once.

A window is the different ``items``, and a text with a letter for each place, oldest first: that of its item,
or `NOTHING` for a place without an item. An item that no letter stands for any more is null, and gives its
place to the next new one. Both are JSON-able as they are, so a state that holds them needs no conversion to
be stored, a session that repeats itself stays small, and which places are equal is seen from the text alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

FIRST = "A"
NOTHING = "."

_FIRST = ord(FIRST)

T = TypeVar("T")


def letter(at: int) -> str:
    """Return the letter of the item at this place of the items.

    >>> letter(0), letter(2)
    ('A', 'C')
    """
    return chr(_FIRST + at)


def append(
    items: Sequence[T | None], order: str, item: T | None, size: int
) -> tuple[Sequence[T | None], str]:
    """Return the window with one more item at its end, cut to the newest ``size``. Changes nothing in place.

    >>> items, order = append([], "", "a", size=2)
    >>> items, order = append(items, order, "a", size=2)
    >>> items, order = append(items, order, "b", size=2)
    >>> items, order
    (['a', 'b'], 'AB')
    >>> append(items, order, "c", size=2)
    (['c', 'b'], 'BA')
    """
    place = NOTHING if item is None else _letter_of(items, item)
    leaving = len(order) + 1 - size
    if leaving > 0:
        gone, order = order[:leaving], order[leaving:]
        for each in gone:
            if each in (place, NOTHING) or each in order:
                continue
            items = [*items]
            # Nearly always it is one that leaves, and one that comes.
            items[ord(each) - _FIRST] = None if place else item
            place = place or each
        if items and items[-1] is None:
            items = _without_free_end(items)
    if not place:
        at = items.index(None) if None in items else len(items)
        items = [*items[:at], item, *items[at + 1 :]]
        place = chr(_FIRST + at)
    return items, order + place


def _letter_of(items: Sequence[T | None], item: T) -> str:
    """Return the letter of an item, nothing for one that is not there."""
    return chr(_FIRST + items.index(item)) if item in items else ""


def _without_free_end(items: Sequence[T | None]) -> Sequence[T | None]:
    kept = [*items]
    while kept and kept[-1] is None:
        kept.pop()
    return kept


def item_of(items: Sequence[T | None], place: str) -> T | None:
    """Return the item that a letter stands for, None for `NOTHING` and for no letter.

    >>> item_of(["a", "b"], "B"), item_of(["a", "b"], "")
    ('b', None)
    """
    return None if place in {"", NOTHING} else items[ord(place) - _FIRST]


def counts(order: str) -> dict[str, int]:
    """Return how often each item stands in the window, in the order of first occurrence.

    >>> counts("ACA.B")
    {'A': 2, 'C': 1, 'B': 1}
    """
    return {each: order.count(each) for each in dict.fromkeys(order) if each != NOTHING}


def as_letters(order: Iterable[int]) -> str:
    """Return the letters of an order that an earlier version kept: as numbers, -1 for `NOTHING`.

    >>> as_letters([0, 2, -1])
    'AC.'
    """
    return "".join([NOTHING if place < 0 else letter(place) for place in order])
