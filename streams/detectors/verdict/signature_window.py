"""The signatures of a window as one text, in which each signature stands once, where it was last."""

from __future__ import annotations

# Digits that are kept of a signature's 16: 40 bits. In a window of 100, one record in ten billion meets
# another that only looks like it.
_KEPT = 10


def push(window: str, signature: str, size: int) -> str:
    """Return the window with one more signature at its end, cut to the newest ``size`` records.

    Each record is a place that ends with a comma; a record whose signature came again later has an empty
    place, so that a session that repeats itself stays small.

    >>> push(push(push("", "aa", 3), "bb", 3), "aa", 3)
    ',bb,aa,'
    >>> push(",bb,aa,", "cc", 2)
    'aa,cc,'
    """
    kept = signature[:_KEPT]
    at = window.find(kept)
    if at >= 0:
        window = window[:at] + window[at + len(kept) :]
    return cut(f"{window}{kept},", size)


def cut(window: str, size: int) -> str:
    """Return the newest ``size`` records of a window.

    >>> cut("aa,,bb,", 1), cut("aa,", 0), cut("aa,", 5)
    ('bb,', '', 'aa,')
    """
    for _ in range(window.count(",") - size):
        window = window[window.index(",") + 1 :]
    return window


def distance(window: str, signature: str) -> int | None:
    """Return how many records before the end a signature was last seen, from 1; None when it was not.

    >>> distance("aa,,bb,", "aa"), distance("aa,,bb,", "cc")
    (3, None)
    """
    at = window.find(signature[:_KEPT])
    return None if at < 0 else window.count(",", at)
