"""How long a loop ran before it was noticed, in records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from streams.evaluation.estimate import Estimate, bootstrapped
from streams.evaluation.intervals import quantile

Wait = int | None
"""Records from the onset to the alarm; None when there was no alarm."""

QUARTER: Final = 0.25
MEDIAN: Final = 0.5


@dataclass(frozen=True, slots=True)
class Delay:
    """The delays of several sessions that loop.

    Attributes:
        noticed: sessions with an alarm at or after their onset.
        unnoticed: the others.
        lower, median, upper: the quartiles of the waits of the sessions that were noticed.
    """

    noticed: int
    unnoticed: int
    lower: Estimate
    median: Estimate
    upper: Estimate


def wait(raised: AbstractSet[int], onset: int) -> Wait:
    """Return the records from the onset to the first alarm at or after it, 0 when it is that record itself.

    An alarm that came before is no notice, unless it still holds.

    >>> wait({1, 5, 6}, 3), wait({1}, 3)
    (2, None)
    """
    return min((at - onset for at in raised if at >= onset), default=None)


def delay(waits: Sequence[Wait], drawn: Sequence[Sequence[int]]) -> Delay:
    """Summarise the waits of sessions that loop; ``drawn`` are resamples of them, noticed or not."""
    noticed = sum(each is not None for each in waits)
    return Delay(
        noticed,
        len(waits) - noticed,
        bootstrapped(waits, quartile(QUARTER), drawn),
        bootstrapped(waits, quartile(MEDIAN), drawn),
        bootstrapped(waits, quartile(1 - QUARTER), drawn),
    )


def quartile(part: float) -> Callable[[Sequence[Wait]], float | None]:
    """Return what finds the wait that this part of the noticed sessions do not exceed.

    >>> quartile(MEDIAN)([4, None, 1]), quartile(MEDIAN)([None])
    (2.5, None)
    """

    def of(waits: Sequence[Wait]) -> float | None:
        noticed = sorted(each for each in waits if each is not None)
        return quantile(noticed, part) if noticed else None

    return of
