"""The rules of the verdict (specification 4.3, 6.5, 6.5b, 6.5c)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from streams.core.detectors.detector import Rules
from streams.core.detectors.verdict.settings import RULES, VerdictSettings
from streams.core.detectors.verdict.state import RECENT
from streams.core.detectors.verdict.witness import again_until, looks_until, next_score, witness
from streams.core.domain.decision import Decision
from streams.core.domain.level import Level
from streams.core.domain.witness import Obstacle, Reachability, RecordMaker, Witness

_PERIODS = range(2, RECENT + 1)
_LONGER = RECENT + 1


class VerdictRules(Rules[VerdictSettings]):
    """R1, R2, R7 and R9 for WARNING and for LOOP: can each count up to its limits?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = RULES

    def reachability(self, settings: VerdictSettings) -> Iterator[Reachability]:
        """Yield the rows of R1, R1:failing, R2:period<p> up to 5, R2:longer, R7 and R9."""
        yield from _limits(settings, "R1", "identical")
        yield from _limits(settings, "R1:failing", "identical_failing")
        for period in _PERIODS:
            yield from _limits(settings, f"R2:period{period}", "cycle", period)
        yield from _limits(settings, "R2:longer", "cycle", _LONGER)
        yield from _stuck(settings)
        yield from _waiting(settings)

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
    settings: VerdictSettings, rule: str, name: str, period: int | None = None
) -> Iterator[Reachability]:
    """Rows of a rule that counts periods of records up to its limits."""
    warn, loop = getattr(settings, f"{name}_warn"), getattr(settings, f"{name}_loop")
    why, disabled = _obstacle(settings, rule[:2], period)
    records = period or 1
    yield Reachability.of(
        rule,
        Level.WARNING,
        None if why or warn >= loop else records * warn,
        why or f"{name}_warn = {name}_loop",
        disabled=disabled,
    )
    yield Reachability.of(rule, Level.LOOP, None if why else records * loop, why, disabled=disabled)


def _stuck(settings: VerdictSettings) -> Iterator[Reachability]:
    """Rows of the stuck score, which no step raises by more than equal calls in a row do."""
    warn, loop = settings.stuck_warn, settings.stuck_loop
    why, disabled = _obstacle(settings, "R7", None)
    # Scores are multiples of a quarter.
    reached = next_score(warn) < loop
    between = (
        "stuck_warn = stuck_loop" if warn == loop else "no multiple of 0.25 from stuck_warn to stuck_loop"
    )
    for level, limit, obstacle in (
        (Level.WARNING, warn, why or ("" if reached else between)),
        (Level.LOOP, loop, why),
    ):
        shortest = None if obstacle else 1 + again_until(limit)
        yield Reachability.of("R7", level, shortest, obstacle, disabled=disabled)


def _waiting(settings: VerdictSettings) -> Iterator[Reachability]:
    """Rows of waiting, which takes as few looks as the lifetime of a session allows."""
    warn, loop = settings.waiting_warn_minutes, settings.waiting_loop_minutes
    why, disabled = _obstacle(settings, "R9", None)
    same = "" if warn < loop else "waiting_warn_minutes = waiting_loop_minutes"
    for level, minutes, obstacle in ((Level.WARNING, warn, why or same), (Level.LOOP, loop, why)):
        shortest = None if obstacle else looks_until(minutes, settings)
        yield Reachability.of("R9", level, shortest, obstacle, disabled=disabled)


def _obstacle(settings: VerdictSettings, rule: str, period: int | None) -> tuple[str, bool]:
    if not settings.verdict_enabled:
        return "verdict_enabled is false", True
    if rule not in settings.verdict_rules:
        return f"{rule} is not in verdict_rules", True
    if period is not None and period > settings.cycle_max_period:
        return f"cycle_max_period < {period}", False
    return "", False


def _is_meant(fired: Mapping[str, Any], row: Reachability, status: str) -> bool:
    match fired["rule"]:
        case "R1":
            return row.rule == ("R1:failing" if status == "failure" else "R1")
        case "R2":
            return row.rule == ("R2:longer" if fired["period"] > RECENT else f"R2:period{fired['period']}")
        case rule:
            return bool(row.rule == rule)
