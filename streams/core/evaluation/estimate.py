"""A figure together with how far it can be trusted: 95 % intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
Other = TypeVar("Other")

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


class Estimate(NamedTuple):
    """A figure and its 95 % interval; both None where there is nothing to measure."""

    value: float | None
    interval: Interval | None


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole, None of nothing."""
    return part / whole if whole else None


def proportion(part: int, whole: int) -> Estimate:
    """Return a share of independent things, with Wilson's interval.

    >>> proportion(0, 0)
    Estimate(value=None, interval=None)
    """
    return Estimate(ratio(part, whole), wilson(part, whole))


def bootstrapped(
    sessions: Sequence[Item],
    figure: Callable[[Sequence[Item]], float | None],
    drawn: Sequence[Sequence[int]],
) -> Estimate:
    """Return a figure of sessions that is no proportion, with a bootstrapped interval.

    Args:
        sessions: what the figure needs of each session.
        figure: the figure of some of them, None where it has none.
        drawn: `streams.core.evaluation.estimate.resamples` of the sessions.

    >>> bootstrapped([1, 3], max, [(0, 0), (0, 1)])
    Estimate(value=3, interval=Interval(low=1.05, high=2.95))
    """
    if not sessions:
        return Estimate(None, None)
    pick = sessions.__getitem__
    return Estimate(figure(sessions), percentiles(figure([*map(pick, numbers)]) for numbers in drawn))


class Sides(NamedTuple, Generic[Item]):
    """What a figure needs of the same sessions in the same order, under one settings document and another."""

    ours: Sequence[Item]
    theirs: Sequence[Item]

    def of(self, measure: Callable[[Item], Other]) -> Sides[Other]:
        """Return what is measured of each session."""
        return Sides([*map(measure, self.ours)], [*map(measure, self.theirs)])


def difference(
    sides: Sides[Item],
    figure: Callable[[Sequence[Item]], float | None],
    drawn: Sequence[Sequence[int]],
) -> Estimate:
    """Return a figure of our side less that of theirs.

    Both figures of a resample are of the same sessions, so the interval says how far the change depends on
    which sessions were recorded. One that does not reach 0 is a change worth the name.

    >>> difference(Sides([2, 3], [1, 1]), sum, [(0, 0), (0, 1)])
    Estimate(value=3, interval=Interval(low=2.025, high=2.975))
    """

    def change(pairs: Sequence[tuple[Item, Item]]) -> float | None:
        one, other = (figure(side) for side in zip(*pairs, strict=True))
        return None if one is None or other is None else one - other

    return bootstrapped(list(zip(*sides, strict=True)), change, drawn)
