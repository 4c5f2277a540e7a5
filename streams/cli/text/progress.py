"""How far long work is: a line on a terminal that the next one replaces, and nothing elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from streams.cli.text.screen import status

T = TypeVar("T")

FIRST_AFTER_SECONDS: Final = 1.0
"""Work that is done sooner says nothing."""
EVERY_SECONDS: Final = 0.5
_LOOK_EVERY: Final = 64
"""Items between two looks at the clock."""


def watched(
    items: Iterable[T],
    doing: str,
    noun: str = "records",
    *,
    total: int | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[T]:
    """Yield the same items, and show on a terminal how many there were.

    Args:
        items: What is worked on.
        doing: What happens to them, such as ``judging``.
        noun: Name of what is counted, in the plural.
        total: How many there are, where that is known.
        clock: Returns the time in seconds.
    """
    started = clock()
    due = started + FIRST_AFTER_SECONDS
    try:
        for number, item in enumerate(items, 1):
            if number % _LOOK_EVERY == 0 and (now := clock()) >= due:
                due = now + EVERY_SECONDS
                status(_line(doing, noun, number, total, now - started))
            yield item
    finally:
        status("")


def _line(doing: str, noun: str, number: int, total: int | None, seconds: float) -> str:
    """Return how far it is.

    >>> _line("judging", "records", 6_400, 12_800, 2.0)
    'judging: 6,400 of 12,800 records (50%), 3,200 per second, 2 s left'
    >>> _line("judging", "records", 6_400, None, 2.0)
    'judging: 6,400 records, 3,200 per second, 2 s so far'
    """
    rate = number / seconds if seconds > 0 else 0.0
    if total is None:
        return f"{doing}: {number:,} {noun}, {rate:,.0f} per second, {seconds:,.0f} s so far"
    left = (total - number) / rate if rate else 0.0
    done = f"{number:,} of {total:,} {noun} ({number / total:.0%})"
    return f"{doing}: {done}, {rate:,.0f} per second, {left:,.0f} s left"
