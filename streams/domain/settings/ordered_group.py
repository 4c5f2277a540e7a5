"""Settings that only make sense together: thresholds that must rise (specification 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from streams.domain.detection_settings import DetectionSettings


@dataclass(frozen=True, slots=True)
class OrderedGroup:
    """Settings whose values must not fall in this order; ``strict``: must rise."""

    names: tuple[str, ...]
    strict: bool = False

    @property
    def wanted(self) -> str:
        """The words after "must be"."""
        return "in the order " + (" < " if self.strict else " <= ").join(self.names)

    def holds(self, settings: DetectionSettings) -> bool:
        """Tell whether the settings keep the order."""
        values = attrgetter(*self.names)(settings)
        return all(low < high or (low == high and not self.strict) for low, high in pairwise(values))


ORDERED_GROUPS = (
    OrderedGroup(("entropy_loop_threshold", "entropy_warning_threshold")),
    OrderedGroup(("pattern_clear", "pattern_saturation")),
    OrderedGroup(
        ("nudge_threshold", "replan_threshold", "checkpoint_threshold", "stop_threshold"), strict=True
    ),
    OrderedGroup(("identical_warn", "identical_loop")),
    OrderedGroup(("identical_failing_warn", "identical_failing_loop")),
    OrderedGroup(("cycle_warn", "cycle_loop")),
    OrderedGroup(("same_error_warn", "same_error_loop")),
    OrderedGroup(("same_result_warn", "same_result_loop")),
    OrderedGroup(("near_duplicate_warn", "near_duplicate_loop")),
    OrderedGroup(("nothing_new_warn", "nothing_new_loop")),
)
