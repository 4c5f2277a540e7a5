"""The one rule of the echo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from streams.core.detectors.echo.settings import EchoSettings

from streams.core.detectors.rules import Rules
from streams.core.domain.decision import Decision
from streams.core.domain.level import Level
from streams.core.domain.reachability import Reachability
from streams.core.domain.witness import NOTHING_SCORED, Obstacle, RecordMaker, Witness, scored_status


class EchoRules(Rules[EchoSettings]):
    """T1: can an intent come back often enough within the window?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = ("T1",)

    def reachability(self, settings: EchoSettings) -> Iterator[Reachability]:
        """Yield the one row."""
        shortest = settings.echo_limit if settings.echo_limit <= settings.echo_window else None
        yield Reachability.of("T1", Level.WARNING, shortest, "echo_limit > echo_window")

    def witness(
        self, row: Reachability, records: int, settings: EchoSettings, maker: RecordMaker
    ) -> Witness | Obstacle:
        """Intend the same again and again."""
        status = scored_status(settings)
        if status is None:
            return NOTHING_SCORED
        return Witness(records, lambda number: maker.record(number, {"status": status}, intent="once more"))

    def fires(
        self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: EchoSettings
    ) -> bool:
        """Tell whether the intent is an echo."""
        return bool(block["echo"])
