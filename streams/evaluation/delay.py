"""How long a loop ran before it was noticed, in records."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Delay:
    """The delays of several sessions with labelled repetitions.

    Attributes:
        noticed: sessions with an alarm at or after their first labelled repetition.
        unnoticed: the others.
        median, longest: records from the first labelled repetition to the first alarm at or after it, 0 when
            it is that record itself; None when no session was noticed.
    """

    noticed: int
    unnoticed: int
    median: float | None
    longest: int | None


def delay(sessions: Iterable[tuple[frozenset[int], frozenset[int]]]) -> Delay:
    """Measure sessions given as (positions raised, positions labelled). One without labels does not count.

    An alarm before the first labelled repetition is no notice of it.

    >>> delay([(frozenset({1, 5, 6}), frozenset({3, 4})), (frozenset(), frozenset({2}))])
    Delay(noticed=1, unnoticed=1, median=2, longest=2)
    """
    waits: list[int | None] = []
    for raised, labelled in sessions:
        if labelled:
            onset = min(labelled)
            waits.append(min((at - onset for at in raised if at >= onset), default=None))
    noticed = [wait for wait in waits if wait is not None]
    return Delay(
        len(noticed),
        len(waits) - len(noticed),
        statistics.median(noticed) if noticed else None,
        max(noticed, default=None),
    )
