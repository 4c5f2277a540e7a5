"""What each rule of a detector brings: what it finds alone, and what no other rule finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from streams.evaluation.counts import Counts, total


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one rule brings to its detector.

    Attributes:
        rule: its name.
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
) -> tuple[Contribution, ...]:
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
        Contribution(
            rule,
            total(_counts(by_rule.get(rule, set()), marked) for by_rule, marked in sessions),
            total(_only(rule, by_rule, marked) for by_rule, marked in sessions),
            sum(bool(by_rule.get(rule)) for by_rule in quiet),
        )
        for rule in sorted(rules)
    )


def _counts(holds: AbstractSet[int], marked: AbstractSet[int]) -> Counts:
    return Counts(len(holds & marked), len(holds - marked), len(marked - holds))


def _only(rule: str, by_rule: Mapping[str, AbstractSet[int]], marked: AbstractSet[int]) -> Counts:
    others: set[int] = set().union(*(holds for name, holds in by_rule.items() if name != rule))
    alone = by_rule.get(rule, set()) - others
    return Counts(len(alone & marked), len(alone - marked))
