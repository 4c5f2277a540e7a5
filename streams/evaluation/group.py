"""Sessions of one group, such as those that failed, and how often they raise an alarm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from streams.evaluation.estimate import Estimate, bootstrapped, proportion, ratio, resamples
from streams.evaluation.first_alarm import share, spared
from streams.evaluation.watch import Watch


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


class Group:
    """Some sessions as the detectors saw them.

    Attributes:
        watches: the sessions.
    """

    def __init__(self, watches: Sequence[Watch]) -> None:
        self.watches = watches
        self._drawn = resamples(len(watches))

    def rate(self, detector: str) -> AlarmRate:
        """Return how often these sessions raise an alarm."""
        return alarm_rate([watch.positions(detector) for watch in self.watches], self._drawn)

    def spared(self, detector: str) -> Estimate:
        """Return the share of their records that come after the first alarm of the session."""
        return self._share(detector, lambda watch: dict.fromkeys(range(watch.records), 1))

    def tokens_spared(self, detector: str) -> Estimate:
        """Return the same share of the tokens that their records used; no figure if no record says."""
        return self._share(detector, lambda watch: watch.tokens)

    def _share(self, detector: str, amounts: Callable[[Watch], Mapping[int, float]]) -> Estimate:
        first = [min(watch.positions(detector), default=None) for watch in self.watches]
        return share([*map(spared, map(amounts, self.watches), first)], self._drawn)
