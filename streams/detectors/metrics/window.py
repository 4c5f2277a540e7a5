"""The newest names of a session as a text: one letter for each place, equal names the same letter.

What the metrics report depends only on which places are equal. A text says that in few bytes, counts and
compares fast, and is the same for every session that repeats itself in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

FIRST = "A"
_FIRST = ord(FIRST)


def letter(index: int) -> str:
    """Return the letter of the name at this index.

    >>> letter(0), letter(2)
    ('A', 'C')
    """
    return chr(_FIRST + index)


def append(names: Sequence[str | None], order: str, name: str, size: int) -> tuple[Sequence[str | None], str]:
    """Return the window with one more name at its end, cut to the newest ``size``. Changes nothing in place.

    Args:
        names: the different names; None is a free place for the next new one.
        order: a letter (`letter`) for each place in the window, oldest first.
        name: the newest.
        size: how many places, at least 2.

    >>> names, order = append([], "", "read", size=2)
    >>> names, order = append(names, order, "bash", size=2)
    >>> names, order
    (['read', 'bash'], 'AB')
    >>> append(names, order, "edit", size=2)
    (['edit', 'bash'], 'BA')
    """
    if len(order) >= size:
        leaving, order = order[: 1 - size], order[1 - size :]
        for gone in leaving:
            if gone not in order:
                names = [*names]
                names[ord(gone) - _FIRST] = None
    if name not in names:
        names = [*names]
        if None in names:
            names[names.index(None)] = name
        else:
            names.append(name)
    return names, order + letter(names.index(name))
