"""Where the overall drift is going (specification 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from streams.core.domain.number import r4


class Trend(NamedTuple):
    """How the overall drift moves.

    Attributes:
        velocity: change per record, 4 decimals; None of a single record.
        is_accelerating: it rises with each record, and by more at the end than at the start.
    """

    velocity: float | None
    is_accelerating: bool


def drift_trend(overalls: Sequence[float], window: int) -> Trend:
    """Return the trend of the newest overall drifts.

    Args:
        overalls: what `drift_overall` gave, oldest first, at least one.
        window: how many of the newest count, at least 2.

    >>> drift_trend([0.25, 0.30, 0.38, 0.50], window=4)
    Trend(velocity=0.0833, is_accelerating=True)
    >>> drift_trend([0.1, 0.2, 0.3], window=4)
    Trend(velocity=0.1, is_accelerating=False)
    """
    newest = overalls[-window:]
    if len(newest) < 2:
        return Trend(None, is_accelerating=False)
    first, last = newest[0], newest[-1]
    if last <= first:
        # What rises with each record ends higher than it began.
        return Trend(r4((last - first) / (len(newest) - 1)), is_accelerating=False)
    steps = [r4(after - before) for before, after in pairwise(newest)]
    accelerating = len(steps) >= 2 and min(steps) > 0 and steps[-1] > steps[0]
    return Trend(r4((last - first) / len(steps)), accelerating)
