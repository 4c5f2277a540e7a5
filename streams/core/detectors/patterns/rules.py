"""The rules of A3 (specification 4.3, 5.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from streams.core.detectors.patterns.settings import PatternsSettings
from streams.core.detectors.patterns.witness import witness
from streams.core.detectors.rules import Rules
from streams.core.domain.decision import Decision
from streams.core.domain.level import Level
from streams.core.domain.number import r4
from streams.core.domain.reachability import Reachability
from streams.core.domain.witness import Obstacle, RecordMaker, Witness

# Up to here the moving average is run record by record; beyond, its closed form is near enough.
_LONGEST_RUN = 100_000
# A double cannot climb further than this in steps that small.
_STANDSTILL = 2**53


class PatternsRules(Rules[PatternsSettings]):
    """A3 for each pattern and for the escalation of one: can it be completed, can it escalate?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = ("A3",)

    def reachability(self, settings: PatternsSettings) -> Iterator[Reachability]:
        """Yield a row for each pattern, and one for the escalation."""
        theta, window = settings.pattern_theta, settings.pattern_window
        for pattern, needed in (("read_loop", theta), ("edit_revert", 3), ("test_fail_loop", theta)):
            shortest = needed if needed <= window else None
            yield Reachability.of(f"A3:{pattern}", Level.WARNING, shortest, "pattern_theta > pattern_window")
        shortest = _records_to_exceed(settings.pattern_saturation, settings.pattern_alpha)
        why = "an average with pattern_alpha never exceeds pattern_saturation"
        counted = f"is number {shortest} in a row to complete a pattern"
        yield Reachability.of("A3:escalation", Level.WARNING, shortest, why, counted=counted)

    def witness(
        self, row: Reachability, records: int, settings: PatternsSettings, maker: RecordMaker
    ) -> Witness | Obstacle:
        """Complete the pattern, or escalate one."""
        return witness(row.rule, records, settings, maker)

    def fires(
        self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: PatternsSettings
    ) -> bool:
        """Tell whether the record alerted the pattern, or escalated one."""
        return bool(block["escalations"]) if row.part == "escalation" else row.part in block["alerts"]


def _records_to_exceed(saturation: float, alpha: float) -> int | None:
    """Return after how many ones the rounded moving average of specification 5.3 exceeds ``saturation``."""
    if saturation >= 1:
        return None
    least = (math.floor(saturation * 10_000) + 1) / 10_000 - 0.00005
    estimate = 1.0 if alpha == 1 else math.log1p(-least) / math.log1p(-alpha)
    if estimate > _LONGEST_RUN:
        return math.ceil(estimate) if estimate < _STANDSTILL else None
    average, records = 0.0, 0
    while r4(average) <= saturation:
        average = alpha + (1 - alpha) * average
        records += 1
    return records
