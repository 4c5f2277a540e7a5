"""Which faults, in which order: decided by a seed alone."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.faults.kinds import KINDS, Fault


def plan(seed: int, count: int, kinds: Sequence[str] = tuple(KINDS)) -> list[Fault]:
    """Return ``count`` faults, about as many of each kind; ``seed`` decides their order and all else."""
    drawn = [kinds[number % len(kinds)] for number in range(count)]
    Random(seed).shuffle(drawn)
    return [KINDS[kind](Random(f"{seed}/{number}/{kind}")) for number, kind in enumerate(drawn)]
