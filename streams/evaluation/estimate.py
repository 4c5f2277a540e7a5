"""A figure together with how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from streams.evaluation.counts import ratio
from streams.evaluation.intervals import Interval, percentiles, wilson

Item = TypeVar("Item")
Other = TypeVar("Other")


class Estimate(NamedTuple):
    """A figure and its 95 % interval; both None where there is nothing to measure."""

    value: float | None
    interval: Interval | None


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
        drawn: `streams.evaluation.intervals.resamples` of the sessions.

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
