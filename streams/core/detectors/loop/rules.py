"""The rules of A4 (specification 4.3, 5.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from streams.core.detectors.loop.settings import LoopSettings
from streams.core.detectors.rules import Rules
from streams.core.domain.decision import Decision
from streams.core.domain.level import Level
from streams.core.domain.reachability import Reachability
from streams.core.domain.witness import (
    NOTHING_SCORED,
    DecisionLog,
    Obstacle,
    RecordMaker,
    Witness,
    scored_status,
)

# The same words in another order: alike at any threshold, and not the same call.
_REWORDED = ('{"q":"price list"}', '{"q":"list price"}')
_TURNS = ("open", "close")


class LoopRules(Rules[LoopSettings]):
    """A4 for each of the four detectors: can it find something?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = ("A4",)

    def reachability(self, settings: LoopSettings) -> Iterator[Reachability]:
        """Yield a row for each of the four."""
        window = settings.loop_window_size
        off = not settings.enable_all_strategies
        for detector, needed, name in (
            ("exact_hash", settings.exact_hash_threshold, "exact_hash_threshold"),
            ("semantic", 2, ""),
            ("oscillation", 2 * settings.oscillation_threshold, "2 x oscillation_threshold"),
            ("dead_end", settings.dead_end_threshold, "dead_end_threshold"),
        ):
            disabled = off and detector != "exact_hash"
            shortest = needed if needed <= window and not disabled else None
            why = "enable_all_strategies is false" if disabled else f"{name} > loop_window_size"
            yield Reachability.of(f"A4:{detector}", Level.WARNING, shortest, why, disabled=disabled)

    def witness(
        self, row: Reachability, records: int, settings: LoopSettings, maker: RecordMaker
    ) -> Witness | Obstacle:
        """Repeat a step, reword it, take turns of two, or get nowhere."""
        status = scored_status(settings)
        if status is None:
            return NOTHING_SCORED

        def make(number: int) -> DecisionLog:
            tool, asked, state = "search", _REWORDED[0], None
            match row.part:
                case "semantic":
                    asked = _REWORDED[(number - 1) % 2]
                case "oscillation":
                    tool = _TURNS[(number - 1) % 2]
                case "dead_end":
                    asked, state = f'{{"q":"idea {number}"}}', {"progress_delta": 0.0}
            action = {"status": status, "tool_call": tool, "tool_input": asked}
            return maker.record(number, action, state=state)

        return Witness(records, make)

    def fires(
        self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: LoopSettings
    ) -> bool:
        """Tell whether the detector of the row found something in the record."""
        return block["all_detections"][row.part] is not None
