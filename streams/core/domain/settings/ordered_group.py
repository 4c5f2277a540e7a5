"""Settings that only make sense together: thresholds that must rise (specification 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter


@dataclass(frozen=True, slots=True)
class OrderedGroup:
    """Settings whose values must not fall in this order; ``strict``: must rise."""

    names: tuple[str, ...]
    strict: bool = False

    @property
    def wanted(self) -> str:
        """The words after "must be"."""
        return "in the order " + (" < " if self.strict else " <= ").join(self.names)

    def holds(self, settings: object) -> bool:
        """Tell whether the settings keep the order."""
        values = attrgetter(*self.names)(settings)
        return all(low < high or (low == high and not self.strict) for low, high in pairwise(values))
