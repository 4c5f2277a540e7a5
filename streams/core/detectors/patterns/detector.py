"""A3: read loops, reverted edits and failing commands, with average, cooldown and escalation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from streams.core.detectors.detector import Block, Detector, Eddy, Observation
from streams.core.detectors.patterns.action_kind import ActionKind
from streams.core.detectors.patterns.duplicates import duplicates
from streams.core.detectors.patterns.edit_revert import is_edit_revert
from streams.core.detectors.patterns.fail_loop import is_fail_loop
from streams.core.detectors.patterns.presentation import PatternsPresentation
from streams.core.detectors.patterns.read_loop import is_read_loop
from streams.core.detectors.patterns.rules import PatternsRules
from streams.core.detectors.patterns.settings import PatternsSettings
from streams.core.detectors.patterns.state import PatternsState, advance, upgraded
from streams.core.detectors.patterns.trend import Trend, turn
from streams.core.detectors.standing import DetectorStanding, score_rule
from streams.core.domain.decision import Decision
from streams.core.domain.event import EventKind, Finding
from streams.core.domain.number import r4

PATTERNS = ("read_loop", "edit_revert", "test_fail_loop")

# Each pattern is completed by one kind of action, so a record completes at most one.
_COMPLETED_BY = {
    ActionKind.READ.value: ("read_loop", is_read_loop),
    ActionKind.WRITE.value: ("edit_revert", is_edit_revert),
    ActionKind.FAILED_COMMAND.value: ("test_fail_loop", is_fail_loop),
}
# A record takes three marks with quotes and comma, a letter for its kind and one for its place.
_MOST_BYTES = 24
_NEVER_MOVED: Sequence[Any] = [*Trend()]


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
            advanced, ema, alert, escalation = turn(Trend(*trend), matched, eddy["step"], settings)
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
        trends = [Trend(*each) for each in state.trends] or [Trend()] * len(PATTERNS)
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
