"""How far a figure from few sessions can be trusted: 95 % intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from streams.evaluation.counts import Counts, total

Z: Final = 1.959963984540054
"""97.5 % of a standard normal variable lie below this."""
TAIL: Final = 0.025
"""Share that an interval leaves out on each side."""
DRAWS: Final = 1_000
SEED: Final = 20_251_122


class Interval(NamedTuple):
    """Lower and upper end."""

    low: float
    high: float


def wilson(part: int, whole: int) -> Interval | None:
    """Return the score interval of a proportion of independent trials; None without trials.

    Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927). Unlike the
    textbook interval it is right for few trials and for proportions of 0 and 1.

    >>> [round(end, 4) for end in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    if not whole:
        return None
    share, spread = part / whole, Z * Z / whole
    centre = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt(share * (1 - share) / whole + spread / (4 * whole)) / (1 + spread)
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def resamples(sessions: int, draws: int = DRAWS, seed: int = SEED) -> tuple[tuple[int, ...], ...]:
    """Return ``draws`` resamples, with replacement, of the numbers of that many sessions; always the same.

    One list serves every detector, so that their intervals come from the same imagined data.
    """
    chance = random.Random(seed)
    numbers = range(sessions)
    return tuple(tuple(chance.choices(numbers, k=sessions)) for _ in range(draws)) if sessions else ()


def redrawn(sessions: Sequence[Counts], drawn: Iterable[Sequence[int]]) -> tuple[Counts, ...]:
    """Return the sum of the counts of the drawn sessions, for each of the `resamples`.

    The records of one session are not independent of one another, so whole sessions are drawn, not records
    (Efron and Tibshirani, An introduction to the bootstrap, 1993, chapter 8).
    """
    return tuple(total(sessions[number] for number in numbers) for numbers in drawn)


def percentiles(values: Iterable[float | None]) -> Interval | None:
    """Return the middle 95 % of a figure over resamples. Where it is not defined it is left out.

    >>> percentiles([0.0, None, 1.0])
    Interval(low=0.025, high=0.975)
    """
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return None
    return Interval(quantile(ordered, TAIL), quantile(ordered, 1 - TAIL))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Interpolate between the two nearest of some ordered values, of which there is at least one."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
