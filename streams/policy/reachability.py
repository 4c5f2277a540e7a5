"""Can each rule fire at all under these settings, and after how few records?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from streams.detectors.settings import DetectionSettings
from streams.domain.level import Level
from streams.domain.number import r4

_NEVER = 999
_DRIFT_LEVELS = (
    ("INJECT_REMINDER", "nudge_threshold"),
    ("SUMMARIZE_REPLAN", "replan_threshold"),
    ("CHECKPOINT_RESET", "checkpoint_threshold"),
    ("ASK_USER", "stop_threshold"),
)
_PERIODS = range(2, 6)
# Up to here the moving average is run record by record; beyond, its closed form is near enough.
_LONGEST_RUN = 100_000
# A double cannot climb further than this in steps that small.
_STANDSTILL = 2**53


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether ``rule`` can reach ``level``.

    ``shortest`` is the least number of records that does it, None when none does. Then ``why`` names the
    settings in the way, and ``disabled`` tells that this is on purpose: otherwise it is worth a warning.
    """

    rule: str
    level: str
    shortest: int | None
    why: str = ""
    disabled: bool = False

    @property
    def reachable(self) -> bool:
        """Whether any sequence of records gets there."""
        return self.shortest is not None


def reachability(settings: DetectionSettings) -> tuple[Reach, ...]:
    """Return a row for each (rule, level), in the order of specification 4.3.

    Rules: A1, A2:<kind>, A3:<pattern>, A3:escalation, A4:<detector>, A5, R1, R1:failing, R2:period<p>, R3,
    R4, R5, and R6 where `verdict_rules` has it. Levels are those of specification 1.5; for A5 they are its
    response levels.

    >>> from streams.detectors.settings import DEFAULTS
    >>> loop, warning = reachability(DEFAULTS)[:2]
    >>> (loop.rule, loop.level, loop.shortest), (warning.level, warning.shortest)
    (('A1', <Level.LOOP: 'LOOP'>, 5), (<Level.WARNING: 'WARNING'>, 3))
    """
    return (
        *_uniqueness(settings),
        *_repeats(settings),
        *_patterns(settings),
        *_loop_detector(settings),
        *_drift(settings),
        *_verdict(settings),
    )


def _uniqueness(settings: DetectionSettings) -> Iterator[Reach]:
    loop, warning = settings.entropy_loop_threshold, settings.entropy_warning_threshold
    sizes = range(1, settings.entropy_window_size + 1)
    shortest = next((n for n in sizes if r4(1 / n) < loop), None)
    yield _row("A1", Level.LOOP, shortest, "entropy_window_size too small for entropy_loop_threshold")
    shortest = next((n for n in sizes if _least_ratio(n, loop) < warning), None)
    why = "no ratio lies between entropy_loop_threshold and entropy_warning_threshold in entropy_window_size"
    yield _row("A1", Level.WARNING, shortest, why)


def _least_ratio(size: int, floor: float) -> float:
    """Return the least r4(u / size), u = 1 .. size, that is not below ``floor``; 2.0 when none is."""
    start = max(1, math.floor((floor - 1e-4) * size))
    return next((ratio for u in range(start, size + 1) if (ratio := r4(u / size)) >= floor), 2.0)


def _repeats(settings: DetectionSettings) -> Iterator[Reach]:
    for kind, threshold in settings.repeat_thresholds.items():
        shortest = threshold if threshold <= settings.repeat_ring_size else None
        why = f"repeat_thresholds.{kind} > repeat_ring_size"
        yield _row(f"A2:{kind}", Level.WARNING, shortest, why, disabled=threshold == _NEVER)


def _patterns(settings: DetectionSettings) -> Iterator[Reach]:
    theta, window = settings.pattern_theta, settings.pattern_window
    for pattern, needed in (("read_loop", theta), ("edit_revert", 3), ("test_fail_loop", theta)):
        shortest = needed if needed <= window else None
        yield _row(f"A3:{pattern}", Level.WARNING, shortest, "pattern_theta > pattern_window")
    shortest = _records_to_exceed(settings.pattern_saturation, settings.pattern_alpha)
    why = "an average with pattern_alpha never exceeds pattern_saturation"
    yield _row("A3:escalation", Level.WARNING, shortest, why)


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


def _loop_detector(settings: DetectionSettings) -> Iterator[Reach]:
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
        yield _row(f"A4:{detector}", Level.WARNING, shortest, why, disabled=disabled)


def _drift(settings: DetectionSettings) -> Iterator[Reach]:
    for level, name in _DRIFT_LEVELS:
        yield _row("A5", level, 1 if getattr(settings, name) <= 1 else None, f"{name} > 1")


def _verdict(settings: DetectionSettings) -> Iterator[Reach]:
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


def _limits(
    settings: DetectionSettings, rule: str, name: str, period: int | None = None, before: int = 0
) -> Iterator[Reach]:
    """Rows of a rule that counts periods of records up to its limits; ``before`` records do not count yet."""
    warn, loop = getattr(settings, f"{name}_warn"), getattr(settings, f"{name}_loop")
    why, disabled = _obstacle(settings, rule[:2], period)
    records = period or 1
    yield _row(
        rule,
        Level.WARNING,
        None if why or warn >= loop else before + records * warn,
        why or f"{name}_warn = {name}_loop",
        disabled=disabled,
    )
    yield _row(rule, Level.LOOP, None if why else before + records * loop, why, disabled=disabled)


def _obstacle(settings: DetectionSettings, rule: str, period: int | None) -> tuple[str, bool]:
    if not settings.verdict_enabled:
        return "verdict_enabled is false", True
    if rule not in settings.verdict_rules:
        return f"{rule} is not in verdict_rules", True
    if period is not None and period > settings.cycle_max_period:
        return f"cycle_max_period < {period}", False
    if period is not None and settings.verdict_window <= period:
        return f"verdict_window <= {period}", False
    return "", False


def _row(rule: str, level: str, shortest: int | None, why: str, *, disabled: bool = False) -> Reach:
    if shortest is not None:
        return Reach(rule, level, shortest)
    return Reach(rule, level, None, why, disabled)
