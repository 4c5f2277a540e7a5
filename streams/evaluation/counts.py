"""Hits and misses, and the three numbers people compare: precision, recall, F1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Counts(NamedTuple):
    """How often what was raised and what was labelled agree.

    Attributes:
        hits: raised and labelled.
        false: raised, not labelled.
        missed: labelled, not raised.
    """

    hits: int = 0
    false: int = 0
    missed: int = 0

    @property
    def precision(self) -> float | None:
        """Share of what was raised that is labelled; None when nothing was raised."""
        return ratio(self.hits, self.hits + self.false)

    @property
    def recall(self) -> float | None:
        """Share of what is labelled that was raised; None when nothing is labelled."""
        return ratio(self.hits, self.hits + self.missed)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of the two, 2 hits / (2 hits + false + missed); None when there is nothing to count.

        >>> Counts(hits=3, false=1, missed=2).f1
        0.6666666666666666
        """
        return ratio(2 * self.hits, 2 * self.hits + self.false + self.missed)


def ratio(part: int, whole: int) -> float | None:
    """Return part / whole, None of nothing."""
    return part / whole if whole else None


def counts_of(raised: frozenset[int], labelled: frozenset[int]) -> Counts:
    """Compare two sets of positions of one session.

    >>> counts_of(frozenset({1, 2, 5}), frozenset({2, 3}))
    Counts(hits=1, false=2, missed=1)
    """
    return Counts(len(raised & labelled), len(raised - labelled), len(labelled - raised))


def total(parts: Iterable[Counts]) -> Counts:
    """Add up.

    >>> total([Counts(1, 0, 2), Counts(0, 3, 1)])
    Counts(hits=1, false=3, missed=3)
    """
    columns = tuple(zip(*parts, strict=True))
    return Counts(*map(sum, columns)) if columns else Counts()
