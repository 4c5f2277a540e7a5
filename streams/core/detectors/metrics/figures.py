"""What a window of names has to say: how varied it is, and what repeats in it (specification 5.7)."""

from __future__ import annotations

from functools import lru_cache
from math import log2
from typing import NamedTuple

from streams.core.domain.entropy import shannon_bits
from streams.core.domain.number import r4

_LONGEST_PERIOD = 5
_LONGEST_REMEMBERED = 64


class Figures(NamedTuple):
    """The figures of one window.

    Attributes:
        shannon_bits: entropy of what stands in it, in bits.
        shannon_normalised: divided by that of a window in which all differ; 1.0 for a single place.
        period: least number of places, up to 5, that stand at the end at least twice in a row; None if none.
        period_repeats: how often they do.
        run: how many places at the end are equal.
        top_count: how often the most frequent n-gram stands in it, overlapping ones counted.
    """

    shannon_bits: float
    shannon_normalised: float
    period: int | None
    period_repeats: int | None
    run: int
    top_count: int


def figures_of(order: str, n: int) -> Figures:
    """Return the figures of a window, of which the letters are given, with n-grams of n.

    >>> figures_of("ABABAB", 3)
    Figures(shannon_bits=1.0, shannon_normalised=0.3869, period=2, period_repeats=3, run=1, top_count=2)
    """
    # Agents that repeat themselves give few different texts: what they say is remembered.
    return _remembered(order, n) if len(order) <= _LONGEST_REMEMBERED else _figures(order, n)


def _figures(order: str, n: int) -> Figures:
    bits, normalised = _evenness(tuple(map(order.count, dict.fromkeys(order))))
    period, repeats = _period(order)
    run = len(order) - len(order.rstrip(order[-1]))
    return Figures(bits, normalised, period, repeats, run, _top_count(order, n))


_remembered = lru_cache(maxsize=4_096)(_figures)


@lru_cache(maxsize=4_096)
def _evenness(counted: tuple[int, ...]) -> tuple[float, float]:
    bits, size = shannon_bits(counted), sum(counted)
    return r4(bits), r4(bits / log2(size)) if size > 1 else 1.0


def _period(order: str) -> tuple[int | None, int | None]:
    for period in range(1, _LONGEST_PERIOD + 1):
        block = order[-period:]
        if order.endswith(block * 2):
            repeats, start = 2, len(order) - 2 * period
            while start >= period and order.startswith(block, start - period):
                repeats, start = repeats + 1, start - period
            return period, repeats
    return None, None


def _top_count(order: str, n: int) -> int:
    if len(order) < n:
        return 0
    counted: dict[str, int] = {}
    for gram in map(order.__getitem__, _slices(len(order), n)):
        counted[gram] = counted.get(gram, 0) + 1
    return max(counted.values())


@lru_cache(maxsize=256)
def _slices(size: int, n: int) -> list[slice]:
    return [slice(start, start + n) for start in range(size - n + 1)]
