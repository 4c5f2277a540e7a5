"""The first alarm of a session: how late it comes, and what acting on it would have spared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, NamedTuple

from streams.evaluation.estimate import Estimate, bootstrapped, quantile, ratio

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


class Spared(NamedTuple):
    """Records of one session.

    Attributes:
        records: how many there are of the kind in question.
        after: those of them that come after the first alarm.
    """

    records: int
    after: int


def spared(marked: Collection[int], alarm: int | None) -> Spared:
    """Count the marked records after the record that raises the alarm; without an alarm there are none.

    >>> spared({4, 5, 6}, 5)
    Spared(records=3, after=1)
    """
    return Spared(len(marked), 0 if alarm is None else sum(at > alarm for at in marked))


def share(sessions: Sequence[Spared], drawn: Sequence[Sequence[int]]) -> Estimate:
    """Return the share of records that come after the first alarm, bootstrapped over sessions."""
    return bootstrapped(sessions, spared_share, drawn)


def spared_share(sessions: Sequence[Spared]) -> float | None:
    """Return the share of the records of all these sessions that come after an alarm.

    >>> spared_share([Spared(3, 1), Spared(1, 0)])
    0.25
    """
    return ratio(sum(each.after for each in sessions), sum(each.records for each in sessions))
