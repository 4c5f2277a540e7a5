"""Which faults, in which order: decided by a seed alone."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.faults.kinds import KINDS, DiskFull, Fault, ReplicasTooFew

#: One fault, or two: the second comes while the first is in force.
Step = tuple[Fault, ...]

#: These wait for what a worker does that is there, so they cannot be the second of two.
_FIRST_OF_TWO = (DiskFull, ReplicasTooFew)


def plan(seed: int, count: int, kinds: Sequence[str] = tuple(KINDS), overlap: float = 0.0) -> list[Step]:
    """Return ``count`` faults, about as many of each kind; ``seed`` decides their order and all else.

    Args:
        seed: Decides.
        count: The count of faults.
        kinds: The kinds of faults.
        overlap: How probable it is that a fault is joined by the next one.
    """
    drawn = [kinds[number % len(kinds)] for number in range(count)]
    Random(seed).shuffle(drawn)
    faults = [KINDS[kind](Random(f"{seed}/{number}/{kind}")) for number, kind in enumerate(drawn)]
    chance = Random(f"{seed}/overlap")
    steps: list[Step] = []
    while faults:
        first = faults.pop(0)
        joined = bool(faults) and chance.random() < overlap
        step = _pair(first, faults[0]) if joined else None
        if step is not None:
            faults.pop(0)
        steps.append(step or (first,))
    return steps


def _pair(one: Fault, other: Fault) -> Step | None:
    """Return both in the order in which they can overlap, None when they cannot."""
    if one.kind == other.kind or (one.takes_a_node and other.takes_a_node):
        return None
    pair = (other, one) if isinstance(other, _FIRST_OF_TWO) else (one, other)
    return None if isinstance(pair[1], _FIRST_OF_TWO) else pair
