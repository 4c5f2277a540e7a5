"""How often sessions raise an alarm, rightly or not."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from streams.evaluation.counts import ratio
from streams.evaluation.estimate import Estimate, bootstrapped, proportion


class AlarmRate(NamedTuple):
    """Alarms of some sessions.

    Attributes:
        sessions: how many there were.
        alarmed: those with at least one alarm.
        alarms: alarms in all; records in a row that hold one up are one alarm.
        alarmed_share: share of sessions with an alarm. Sessions are independent, so with Wilson's interval.
        alarms_per_session: mean number of alarms of a session, bootstrapped.
    """

    sessions: int
    alarmed: int
    alarms: int
    alarmed_share: Estimate
    alarms_per_session: Estimate


def alarm_rate(sessions: Sequence[AbstractSet[int]], drawn: Sequence[Sequence[int]]) -> AlarmRate:
    """Count the alarms of sessions given as the positions raised; ``drawn`` are resamples of them.

    >>> rate = alarm_rate([{1, 2, 5}, set()], [(0, 1)])
    >>> rate.sessions, rate.alarmed, rate.alarms, rate.alarms_per_session.value
    (2, 1, 2, 1.0)
    """
    alarms = [sum(at - 1 not in raised for at in raised) for raised in sessions]
    alarmed = sum(map(bool, alarms))
    return AlarmRate(
        len(sessions),
        alarmed,
        sum(alarms),
        proportion(alarmed, len(sessions)),
        bootstrapped(alarms, _mean, drawn),
    )


def _mean(alarms: Sequence[int]) -> float | None:
    return ratio(sum(alarms), len(alarms))
