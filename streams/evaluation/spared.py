"""How much of what an agent did comes after the first alarm: what acting on that alarm would have spared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from streams.evaluation.counts import ratio
from streams.evaluation.estimate import Estimate, bootstrapped


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
