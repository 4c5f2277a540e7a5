"""Sessions of one group, such as those that failed, with the resamples that all detectors share."""

from __future__ import annotations

from collections.abc import Sequence

from streams.evaluation.alarm_rate import AlarmRate, alarm_rate
from streams.evaluation.estimate import Estimate
from streams.evaluation.intervals import resamples
from streams.evaluation.spared import share, spared
from streams.evaluation.watch import Watch


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
        first = [min(watch.positions(detector), default=None) for watch in self.watches]
        records = [range(watch.records) for watch in self.watches]
        return share([*map(spared, records, first)], self._drawn)
