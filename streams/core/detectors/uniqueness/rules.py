"""The rules of A1 (specification 4.3, 5.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from streams.core.detectors.rules import Rules
from streams.core.detectors.uniqueness.settings import UniquenessSettings
from streams.core.domain.decision import Decision
from streams.core.domain.level import Level
from streams.core.domain.number import r4
from streams.core.domain.reachability import Reachability
from streams.core.domain.witness import (
    NOTHING_SCORED,
    DecisionLog,
    Obstacle,
    RecordMaker,
    Witness,
    scored_status,
)


class UniquenessRules(Rules[UniquenessSettings]):
    """A1 for LOOP and for WARNING: can the uniqueness ratio fall low enough?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = ("A1",)

    def reachability(self, settings: UniquenessSettings) -> Iterator[Reachability]:
        """Yield a row for LOOP and for WARNING."""
        loop, warning = settings.entropy_loop_threshold, settings.entropy_warning_threshold
        sizes = range(1, settings.entropy_window_size + 1)
        shortest = next((n for n in sizes if r4(1 / n) < loop), None)
        yield Reachability.of(
            "A1", Level.LOOP, shortest, "entropy_window_size too small for entropy_loop_threshold"
        )
        shortest = next((n for n in sizes if _least_ratio(n, loop) < warning), None)
        between = "between entropy_loop_threshold and entropy_warning_threshold in entropy_window_size"
        yield Reachability.of("A1", Level.WARNING, shortest, f"no ratio lies {between}")

    def witness(
        self, row: Reachability, records: int, settings: UniquenessSettings, maker: RecordMaker
    ) -> Witness | Obstacle:
        """Decide as many different things as the level takes, the last of them again and again."""
        status = scored_status(settings)
        if status is None:
            return NOTHING_SCORED
        loop, warning = settings.entropy_loop_threshold, settings.entropy_warning_threshold
        different = 1
        if row.level == Level.WARNING:
            different = next(u for u in range(1, records + 1) if loop <= r4(u / records) < warning)

        def make(number: int) -> DecisionLog:
            idea = f"try idea {min(number, different)}"
            return maker.record(number, {"status": status, "tool_call": "search"}, intent=idea)

        return Witness(records, make)

    def fires(
        self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: UniquenessSettings
    ) -> bool:
        """Tell whether the record stands at this level."""
        return bool(block["severity"] == row.level)


def _least_ratio(size: int, floor: float) -> float:
    """Return the least r4(u / size), u = 1 .. size, that is not below ``floor``; 2.0 when none is."""
    start = max(1, math.floor((floor - 1e-4) * size))
    return next((ratio for u in range(start, size + 1) if (ratio := r4(u / size)) >= floor), 2.0)
