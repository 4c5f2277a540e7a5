"""The rules of A2 (specification 4.3, 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, ClassVar

from streams.core.detectors.repeat.settings import RepeatSettings
from streams.core.detectors.rules import Rules
from streams.core.domain.decision import Decision
from streams.core.domain.level import Level
from streams.core.domain.reachability import Reachability
from streams.core.domain.witness import NOTHING_SCORED, Obstacle, RecordMaker, Witness, scored_status

_NEVER = 999


class RepeatRules(Rules[RepeatSettings]):
    """A2 for each kind that has a threshold: can a run of equal calls be long enough?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = ("A2",)

    def reachability(self, settings: RepeatSettings) -> Iterator[Reachability]:
        """Yield a row for each kind that has a threshold."""
        for kind, threshold in settings.repeat_thresholds.items():
            shortest = threshold if threshold <= settings.repeat_ring_size else None
            why = f"repeat_thresholds.{kind} > repeat_ring_size"
            yield Reachability.of(f"A2:{kind}", Level.WARNING, shortest, why, disabled=threshold == _NEVER)

    def witness(
        self, row: Reachability, records: int, settings: RepeatSettings, maker: RecordMaker
    ) -> Witness | Obstacle:
        """Do a step of the kind again and again; ``default`` is any kind without a threshold of its own."""
        status = scored_status(settings)
        if status is None:
            return NOTHING_SCORED
        kind = row.part
        if not kind:
            return Obstacle("a record whose kind is empty counts as tool or llm")
        if kind == "default":
            kind = next(name for n in count(1) if (name := f"kind_{n}") not in settings.repeat_thresholds)
        action = {"status": status, "kind": kind}
        if kind == "tool":
            action["tool_call"] = "search"
        return Witness(records, lambda number: maker.record(number, action))

    def fires(
        self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: RepeatSettings
    ) -> bool:
        """Tell whether the record is one of the kind, and diverged."""
        kind = decision.kind if decision.kind in settings.repeat_thresholds else "default"
        return bool(block["fired"]) and row.part == kind
