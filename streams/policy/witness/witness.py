"""What shows that a rule can fire: a sequence of records, or what stands in its way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

DecisionLog: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Witness:
    """A shortest sequence of records after which a rule fires, and not before.

    Attributes:
        records: how many there are.
        make: returns the record of a number, from 1, a DecisionLog (specification 2.1) that holds only what
            matters to the rule. Long sequences cost nothing until they are asked for.
    """

    records: int
    make: Callable[[int], DecisionLog]

    def values(self) -> Iterator[DecisionLog]:
        """Yield the records in order."""
        return map(self.make, range(1, self.records + 1))


@dataclass(frozen=True, slots=True)
class Obstacle:
    """No sequence makes the rule fire, though its own settings would allow one.

    Attributes:
        why: names the settings in the way.
        certain: whether no sequence can; else none was found among those that were tried.
    """

    why: str
    certain: bool = True
