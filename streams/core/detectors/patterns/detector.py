"""A3: read loops, reverted edits and failing commands, with average, cooldown and escalation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, ClassVar, Final, NamedTuple

from streams.core.detectors.detector import (
    Block,
    Detector,
    DetectorStanding,
    Eddy,
    Fields,
    Meaning,
    Observation,
    Presentation,
    Rules,
    score_rule,
)
from streams.core.detectors.patterns import edit_revert, fail_loop, read_loop
from streams.core.detectors.patterns.edit_revert import is_edit_revert
from streams.core.detectors.patterns.fail_loop import is_fail_loop
from streams.core.detectors.patterns.read_loop import is_read_loop
from streams.core.detectors.patterns.settings import PatternsSettings
from streams.core.detectors.patterns.state import ActionKind, PatternsState, advance, upgraded
from streams.core.detectors.patterns.witness import witness
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.number import r4
from streams.core.domain.outcome import Finding
from streams.core.domain.shared_window import NOTHING
from streams.core.domain.text.printable import printable
from streams.core.domain.witness import Obstacle, Reachability, RecordMaker, Witness


class PatternTrend(NamedTuple):
    """What is kept of one pattern.

    Attributes:
        ema: exponential moving average of "this record completes the pattern", unrounded, 0 to 1.
        alerted_at: step of the last alert, None before the first.
        escalated: whether the pattern stands escalated.
    """

    ema: float = 0.0
    alerted_at: int | None = None
    escalated: bool = False


class PatternTurn(NamedTuple):
    """What one record made of a trend; ``ema`` is the average as it is reported."""

    trend: PatternTrend
    ema: float
    alert: bool
    escalation: bool


def turn(trend: PatternTrend, matched: bool, step: int, settings: PatternsSettings) -> PatternTurn:
    """Advance a trend by one record.

    Args:
        trend: the trend until now.
        matched: whether this record completes the pattern.
        step: number of the record among the scored ones of its session.
        settings: `pattern_alpha`, `pattern_cooldown`, `pattern_saturation` and their kin.

    >>> DEFAULTS = PatternsSettings()
    >>> trend, alerts = PatternTrend(), []
    >>> for step in range(1, 10):
    ...     trend, _, alert, _ = turn(trend, step >= 3, step, DEFAULTS)
    ...     alerts += [step] if alert else []
    >>> alerts
    [3, 9]
    """
    ema, alerted_at, escalated = trend
    alpha = settings.pattern_alpha
    ema = alpha * matched + (1 - alpha) * ema
    reported = r4(ema)

    alert = matched and (alerted_at is None or step - alerted_at > _cooldown(reported, settings))
    escalation = not escalated and reported > settings.pattern_saturation
    escalated = escalation or (escalated and reported >= settings.pattern_clear)
    return PatternTurn(
        PatternTrend(ema, step if alert else alerted_at, escalated), reported, alert, escalation
    )


def _cooldown(ema: float, settings: PatternsSettings) -> int:
    cooldown = settings.pattern_cooldown
    return floor(cooldown * (1 + ema)) if settings.pattern_adaptive_cooldown else cooldown


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


_SENTENCES: Final = {
    "read_loop": read_loop.SENTENCE,
    "edit_revert": edit_revert.SENTENCE,
    "test_fail_loop": fail_loop.SENTENCE,
}


class PatternsPresentation(Presentation):
    """What was done once more, and to what."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.DRIFT_PATTERN,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return the pattern; all escalations count as one rule."""
        rule = "escalation" if fields["phase"] == "escalation" else fields["pattern"]
        return Meaning(alert=fields["pattern"], fired=(f"A3:{rule}", Level.WARNING.value))

    def sentence(self, fields: Fields) -> str:
        """Return what the pattern means here.

        >>> alert = {
        ...     "event_type": "drift_pattern",
        ...     "phase": "alert",
        ...     "pattern": "read_loop",
        ...     "target": "a.py",
        ... }
        >>> PatternsPresentation().sentence(alert)
        'read a.py once more, though nothing has changed it since'
        """
        if fields["phase"] == "escalation":
            return f"this keeps coming back (moving average {fields['ema']:.2f})"
        if fields["pattern"] not in _SENTENCES:
            return super().sentence(fields)
        return _SENTENCES[fields["pattern"]].format(target=printable(fields["target"] or "the file", 60))


def duplicates(state: PatternsState) -> tuple[int, int]:
    """Return the duplicate mass and the greatest multiplicity of the window.

    The mass is the number of records with a target whose (tool, target, hash) occurs at least twice; the
    multiplicity is the largest such count, 0 without any target.

    >>> from streams.core.detectors.patterns.state import version
    >>> versions = [version("cat", "a.py", "h0"), version("cat", "b.py", "h0")]
    >>> duplicates(PatternsState("rrrr", versions, "AABB"))
    (4, 2)
    >>> duplicates(PatternsState("r", versions[:1], "A"))
    (0, 1)
    """
    places, different = state.places, len(state.versions) - state.versions.count(None)
    if different == 0:
        return 0, 0
    if different == len(places) - places.count(NOTHING):
        return 0, 1
    counted = map(places.count, {*places} - {NOTHING})
    repeated = [count for count in counted if count > 1]
    return sum(repeated), max(repeated)


PATTERNS = ("read_loop", "edit_revert", "test_fail_loop")

# Each pattern is completed by one kind of action, so a record completes at most one.
_COMPLETED_BY = {
    ActionKind.READ.value: ("read_loop", is_read_loop),
    ActionKind.WRITE.value: ("edit_revert", is_edit_revert),
    ActionKind.FAILED_COMMAND.value: ("test_fail_loop", is_fail_loop),
}
# A record takes three marks with quotes and comma, a letter for its kind and one for its place.
_MOST_BYTES = 24
_NEVER_MOVED: Sequence[Any] = [*PatternTrend()]


@dataclass(frozen=True, slots=True)
class Patterns(Detector[PatternsState, PatternsSettings]):
    """Three patterns over the newest `pattern_window` records, each asked of the newest one.

    read_loop: the `pattern_theta`-th read of a file that did not change. edit_revert: a file written back to
    an earlier content. test_fail_loop: `pattern_theta` commands in a row failing alike. Each pattern has an
    exponential average, an alert with a cooldown of records, and an escalation when the average saturates.

    Takes `action.target`, `action.content_hash`, the status and the class of the tool, and of failed commands
    the arguments and the result. Looks at every scored record.

    Source: specification 5.3 (document 001).

    >>> DEFAULTS = PatternsSettings()
    >>> known = {
    ...     "session_id": "s",
    ...     "event_id": "e",
    ...     "meta": {"trace_id": "t", "timestamp": 0},
    ...     "identity": {"agent_id": "a", "agent_type": "coder"},
    ...     "action": {"status": "success", "tool_call": "read_file", "target": "/f", "content_hash": "h0"},
    ... }
    >>> detector, state, alerts = Patterns(), Patterns().fresh(), []
    >>> for step in range(1, 10):
    ...     decision = Decision.of(0, step, known)
    ...     state, block, _ = detector.observe(state, decision, {"step": step}, DEFAULTS)
    ...     alerts += [step] if block["alerts"] else []
    >>> alerts
    [3, 9]
    """

    name: ClassVar[str] = "patterns"
    rules = PatternsRules()
    presentation = PatternsPresentation()

    def fresh(self) -> PatternsState:
        """Return an empty window, no trends."""
        return PatternsState()

    def restore(self, stored: Sequence[Any]) -> PatternsState:
        """Read back a state, also one that an earlier version wrote."""
        return upgraded(stored)

    def observe(
        self, state: PatternsState, decision: Decision, eddy: Eddy, settings: PatternsSettings
    ) -> Observation[PatternsState]:
        """Ask each pattern of the newest record, and advance its trend."""
        state = advance(state, decision, settings)
        completes = _COMPLETED_BY.get(state.kinds[-1])
        completed = None
        if completes is not None and completes[1](state, settings.pattern_theta):
            completed = completes[0]
        mass, most = duplicates(state)
        block: Block = {
            "ema": dict.fromkeys(PATTERNS, 0.0),
            "matched": [],
            "alerts": [],
            "escalations": [],
            "escalated": [],
            "duplicate_mass": mass,
            "max_multiplicity": most,
        }
        # An average that never moved needs no turning: most sessions complete no pattern at all.
        if completed is None and not state.trends:
            return state, block, ()

        trends, findings = [], []
        for name, trend in zip(PATTERNS, state.trends or [_NEVER_MOVED] * len(PATTERNS), strict=True):
            matched = name == completed
            if not matched and trend == _NEVER_MOVED:
                trends.append(trend)
                continue
            advanced, ema, alert, escalation = turn(PatternTrend(*trend), matched, eddy["step"], settings)
            trends.append([*advanced])
            block["ema"][name] = ema
            if matched:
                block["matched"].append(name)
            if alert:
                block["alerts"].append(name)
                findings.append(_drift(name, "alert", ema, eddy["step"], decision))
            if escalation:
                block["escalations"].append(name)
                findings.append(_drift(name, "escalation", ema, eddy["step"], decision))
            if advanced.escalated:
                block["escalated"].append(name)
        return state._replace(trends=trends), block, tuple(findings)

    def most_bytes(self, settings: PatternsSettings) -> int:
        """Return the bound of its windows."""
        return settings.pattern_window * _MOST_BYTES

    def standing(self, state: PatternsState, settings: PatternsSettings) -> DetectorStanding:
        """Return the averages, and the commands in a row that failed alike."""
        trends = [PatternTrend(*each) for each in state.trends] or [PatternTrend()] * len(PATTERNS)
        named = list(zip(PATTERNS, trends, strict=True))
        scores = {
            "ema": {pattern: r4(trend.ema) for pattern, trend in named},
            "escalated": [pattern for pattern, trend in named if trend.escalated],
        }
        rule = score_rule("A3:test_fail_loop", state.failures, settings.pattern_theta)
        return DetectorStanding(scores, (rule,))


def _drift(pattern: str, phase: str, ema: float, step: int, decision: Decision) -> Finding:
    return Finding(
        EventKind.DRIFT_PATTERN,
        {"pattern": pattern, "phase": phase, "ema": ema, "step": step, "target": decision.target},
    )


DETECTOR = Patterns()
