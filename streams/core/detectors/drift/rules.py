"""The rules of A5 (specification 4.3, 5.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from streams.core.detectors.drift.level import THRESHOLDS
from streams.core.detectors.drift.settings import DriftSettings
from streams.core.detectors.drift.witness import witness
from streams.core.detectors.rules import Rules
from streams.core.domain.decision import Decision
from streams.core.domain.reachability import Reachability
from streams.core.domain.witness import Obstacle, RecordMaker, Witness


class DriftRules(Rules[DriftSettings]):
    """A5 for each level above CONTINUE: can the signals add up to it?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = ("A5",)

    def reachability(self, settings: DriftSettings) -> Iterator[Reachability]:
        """Yield a row for each level above CONTINUE, as if any record could have any signal."""
        for level, name in THRESHOLDS.items():
            yield Reachability.of("A5", level, 1 if getattr(settings, name) <= 1 else None, f"{name} > 1")

    def witness(
        self, row: Reachability, records: int, settings: DriftSettings, maker: RecordMaker
    ) -> Witness | Obstacle:
        """Make the signals add up to the level."""
        return witness(row.level, settings, maker)

    def fires(
        self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: DriftSettings
    ) -> bool:
        """Tell whether the record stands at this level."""
        return bool(block["level"] == row.level)
