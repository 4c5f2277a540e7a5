"""How often sessions raise an alarm, rightly or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from streams.evaluation.counts import ratio
from streams.evaluation.intervals import Interval, wilson


class AlarmRate(NamedTuple):
    """Alarms of some sessions.

    Attributes:
        sessions: how many there were.
        alarmed: those with at least one alarm.
        alarms: alarms in all; records in a row that hold one up are one alarm.
    """

    sessions: int
    alarmed: int
    alarms: int

    @property
    def alarmed_share(self) -> float | None:
        """Share of sessions with an alarm."""
        return ratio(self.alarmed, self.sessions)

    @property
    def interval(self) -> Interval | None:
        """95 % of `alarmed_share`: sessions are independent, so Wilson's."""
        return wilson(self.alarmed, self.sessions)

    @property
    def alarms_per_session(self) -> float | None:
        """Mean number of alarms of a session."""
        return ratio(self.alarms, self.sessions)


def alarm_rate(sessions: Sequence[frozenset[int]]) -> AlarmRate:
    """Count the alarms of sessions given as the positions raised.

    >>> alarm_rate([frozenset({1, 2, 5}), frozenset()])
    AlarmRate(sessions=2, alarmed=1, alarms=2)
    """
    alarms = sum(1 for raised in sessions for at in raised if at - 1 not in raised)
    return AlarmRate(len(sessions), sum(map(bool, sessions)), alarms)
