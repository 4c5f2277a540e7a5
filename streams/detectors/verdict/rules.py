"""The rules of the verdict (specification 4.3, 6.5, 6.5b, and R6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from streams.detectors.rules import Rules
from streams.detectors.verdict.settings import VerdictSettings
from streams.detectors.verdict.stuck_witness import again_until, next_score
from streams.detectors.verdict.witness import witness
from streams.domain.decision import Decision
from streams.domain.level import Level
from streams.domain.reachability import Reachability
from streams.domain.witness import Obstacle, RecordMaker, Witness

_PERIODS = range(2, 6)


class VerdictRules(Rules[VerdictSettings]):
    """R1 to R8 for WARNING and for LOOP: can each count up to its limits?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = ("R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8")

    def reachability(self, settings: VerdictSettings) -> Iterator[Reachability]:
        """Yield the rows of R1, R1:failing, R2:period<p>, R3 to R5, R6 if `verdict_rules` has it, and R7."""
        yield from _limits(settings, "R1", "identical")
        yield from _limits(settings, "R1:failing", "identical_failing")
        for period in _PERIODS:
            yield from _limits(settings, f"R2:period{period}", "cycle", period)
        yield from _limits(settings, "R3", "same_error")
        yield from _limits(settings, "R4", "same_result")
        yield from _limits(settings, "R5", "near_duplicate")
        # Beyond the requirements: no row where it is not asked for.
        if "R6" in settings.verdict_rules:
            yield from _limits(settings, "R6", "nothing_new", before=1)
        yield from _stuck(settings)
        if "R8" in settings.verdict_rules:
            yield from _limits(settings, "R8", "stalled", before=1)

    def witness(
        self, row: Reachability, records: int, settings: VerdictSettings, maker: RecordMaker
    ) -> Witness | Obstacle:
        """Do what the rule is about."""
        return witness(row, records, settings, maker)

    def fires(
        self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: VerdictSettings
    ) -> bool:
        """Tell whether the record brought the rule to this level."""
        return any(
            fired["level"] == row.level and _is_meant(fired, row, decision.status)
            for fired in block["fired"] or ()
        )


def _limits(
    settings: VerdictSettings, rule: str, name: str, period: int | None = None, before: int = 0
) -> Iterator[Reachability]:
    """Rows of a rule that counts periods of records up to its limits; ``before`` records do not count yet."""
    warn, loop = getattr(settings, f"{name}_warn"), getattr(settings, f"{name}_loop")
    why, disabled = _obstacle(settings, rule[:2], period)
    records = period or 1
    yield Reachability.of(
        rule,
        Level.WARNING,
        None if why or warn >= loop else before + records * warn,
        why or f"{name}_warn = {name}_loop",
        disabled=disabled,
    )
    yield Reachability.of(rule, Level.LOOP, None if why else before + records * loop, why, disabled=disabled)


def _stuck(settings: VerdictSettings) -> Iterator[Reachability]:
    """Rows of the stuck score, which no step raises by more than equal calls in a row do."""
    warn, loop = settings.stuck_warn, settings.stuck_loop
    why, disabled = _obstacle(settings, "R7", None)
    # Scores are multiples of a half.
    reached = next_score(warn) < loop
    between = (
        "stuck_warn = stuck_loop" if warn == loop else "no multiple of 0.5 from stuck_warn to stuck_loop"
    )
    for level, limit, obstacle in (
        (Level.WARNING, warn, why or ("" if reached else between)),
        (Level.LOOP, loop, why),
    ):
        shortest = None if obstacle else 1 + again_until(limit)
        yield Reachability.of("R7", level, shortest, obstacle, disabled=disabled)


def _obstacle(settings: VerdictSettings, rule: str, period: int | None) -> tuple[str, bool]:
    if not settings.verdict_enabled:
        return "verdict_enabled is false", True
    if rule not in settings.verdict_rules:
        return f"{rule} is not in verdict_rules", True
    if period is not None and period > settings.cycle_max_period:
        return f"cycle_max_period < {period}", False
    if period is not None and settings.verdict_window <= period:
        return f"verdict_window <= {period}", False
    return "", False


def _is_meant(fired: Mapping[str, Any], row: Reachability, status: str) -> bool:
    match fired["rule"]:
        case "R1":
            return row.rule == ("R1:failing" if status == "failure" else "R1")
        case "R2":
            return row.rule == f"R2:period{fired['period']}"
        case rule:
            return bool(row.rule == rule)
