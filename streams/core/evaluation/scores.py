"""Hits and misses of records and sessions, what people make of them, and what each rule brings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from streams.core.evaluation.estimate import Interval, percentiles, ratio, wilson


class Counts(NamedTuple):
    """How often what was raised and what was labelled agree.

    Attributes:
        hits: how many were raised and labelled.
        false: how many were raised and not labelled.
        missed: how many were labelled and not raised.
    """

    hits: int = 0
    false: int = 0
    missed: int = 0

    @property
    def precision(self) -> float | None:
        """Share of what was raised that is labelled; None when nothing was raised."""
        return ratio(self.hits, self.hits + self.false)

    @property
    def recall(self) -> float | None:
        """Share of what is labelled that was raised; None when nothing is labelled."""
        return ratio(self.hits, self.hits + self.missed)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of the two, 2 hits / (2 hits + false + missed); None when there is nothing to count.

        >>> Counts(hits=3, false=1, missed=2).f1
        0.6666666666666666
        """
        return ratio(2 * self.hits, 2 * self.hits + self.false + self.missed)


def counts_of(raised: AbstractSet[int], labelled: AbstractSet[int]) -> Counts:
    """Compare two sets of positions of one session.

    >>> counts_of(frozenset({1, 2, 5}), frozenset({2, 3}))
    Counts(hits=1, false=2, missed=1)
    """
    return Counts(len(raised & labelled), len(raised - labelled), len(labelled - raised))


def total(parts: Iterable[Counts]) -> Counts:
    """Add up.

    >>> total([Counts(1, 0, 2), Counts(0, 3, 1)])
    Counts(hits=1, false=3, missed=3)
    """
    columns = tuple(zip(*parts, strict=True))
    return Counts(*map(sum, columns)) if columns else Counts()


@dataclass(frozen=True, slots=True)
class Scores:
    """The counts and how far the figures of them can be trusted (95 %, None where there is nothing)."""

    counts: Counts
    precision: Interval | None
    recall: Interval | None
    f1: Interval | None


def redrawn(sessions: Sequence[Counts], drawn: Iterable[Sequence[int]]) -> tuple[Counts, ...]:
    """Return the sum of the counts of the drawn sessions, for each of the `resamples`.

    The records of one session are not independent of one another, so whole sessions are drawn, not records
    (Efron and Tibshirani, An introduction to the bootstrap, 1993, chapter 8).
    """
    return tuple(total(sessions[number] for number in numbers) for numbers in drawn)


def step_scores(sessions: Sequence[Counts], drawn: Sequence[Sequence[int]]) -> Scores:
    """Score records. All intervals are bootstrapped over sessions: records of one session go together.

    Args:
        sessions: the counts of the records of each session.
        drawn: `streams.core.evaluation.estimate.resamples` of the sessions.
    """
    totals = redrawn(sessions, drawn)
    return Scores(
        total(sessions),
        percentiles(each.precision for each in totals),
        percentiles(each.recall for each in totals),
        percentiles(each.f1 for each in totals),
    )


def session_scores(raised: Sequence[bool], looping: Sequence[bool], drawn: Sequence[Sequence[int]]) -> Scores:
    """Score sessions, each raised or not and looping or not.

    Sessions are independent and precision and recall are proportions of them: Wilson's intervals. F1 is no
    proportion: bootstrapped.
    """
    each = [session_counts(alarm, loop) for alarm, loop in zip(raised, looping, strict=True)]
    counts = total(each)
    return Scores(
        counts,
        wilson(counts.hits, counts.hits + counts.false),
        wilson(counts.hits, counts.hits + counts.missed),
        percentiles(resampled.f1 for resampled in redrawn(each, drawn)),
    )


def session_counts(raised: object, looping: object) -> Counts:
    """Count one session, by whether anything was raised and whether it loops.

    >>> session_counts(raised=True, looping=False)
    Counts(hits=0, false=1, missed=0)
    """
    return Counts(
        hits=int(bool(raised and looping)),
        false=int(bool(raised and not looping)),
        missed=int(bool(looping and not raised)),
    )


@dataclass(frozen=True, slots=True)
class RuleContribution:
    """What one rule brings to its detector.

    Attributes:
        rule: name of the detector's rule.
        alone: records on which it holds, and labelled ones on which it does not.
        only: records on which no other rule holds; ``missed`` is 0 by definition.
        healthy: healthy sessions in which it holds at least once.
    """

    rule: str
    alone: Counts
    only: Counts
    healthy: int


def contributions(
    labelled: Iterable[tuple[Mapping[str, AbstractSet[int]], AbstractSet[int]]],
    healthy: Iterable[Mapping[str, AbstractSet[int]]],
) -> tuple[RuleContribution, ...]:
    """Weigh the rules of one detector, in the order of their names.

    Args:
        labelled: for each labelled session the positions on which each rule holds, and the labelled ones.
        healthy: for each healthy session the positions on which each rule holds.

    >>> r1, r2 = contributions([({"R1": {2, 3}, "R2": {3, 4}}, {2, 3})], [])
    >>> r1.alone, r1.only
    (Counts(hits=2, false=0, missed=0), Counts(hits=1, false=0, missed=0))
    >>> r2.alone, r2.only
    (Counts(hits=1, false=1, missed=1), Counts(hits=0, false=1, missed=0))
    """
    sessions, quiet = list(labelled), list(healthy)
    rules = {rule for by_rule, _ in sessions for rule in by_rule} | {rule for each in quiet for rule in each}
    return tuple(
        RuleContribution(
            rule,
            total(counts_of(by_rule.get(rule, set()), marked) for by_rule, marked in sessions),
            total(_only(rule, by_rule, marked) for by_rule, marked in sessions),
            sum(bool(by_rule.get(rule)) for by_rule in quiet),
        )
        for rule in sorted(rules)
    )


def _only(rule: str, by_rule: Mapping[str, AbstractSet[int]], marked: AbstractSet[int]) -> Counts:
    others: set[int] = set().union(*(holds for name, holds in by_rule.items() if name != rule))
    alone = by_rule.get(rule, set()) - others
    return Counts(len(alone & marked), len(alone - marked))
