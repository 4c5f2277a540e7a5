"""A5: five signals of drift, and what an agent runtime should do about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
)
from streams.core.detectors.drift.settings import DriftSettings
from streams.core.detectors.drift.signals import (
    CONTINUE,
    LEVELS,
    SUGGESTIONS,
    THRESHOLDS,
    GoalState,
    Signals,
    clamped,
    contributions,
    drift_level,
    drift_overall,
    follow,
    one_higher,
)
from streams.core.detectors.drift.witness import witness
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.number import r4
from streams.core.domain.outcome import Finding
from streams.core.domain.text.digest import COMPARED
from streams.core.domain.witness import Obstacle, Reachability, RecordMaker, Witness


class DriftTrend(NamedTuple):
    """How the overall drift moves.

    Attributes:
        velocity: change per record, 4 decimals; None of a single record.
        is_accelerating: it rises with each record, and by more at the end than at the start.
    """

    velocity: float | None
    is_accelerating: bool


def drift_trend(overalls: Sequence[float], window: int) -> DriftTrend:
    """Return the trend of the newest overall drifts.

    Args:
        overalls: what `drift_overall` gave, oldest first, at least one.
        window: how many of the newest count, at least 2.

    >>> drift_trend([0.25, 0.30, 0.38, 0.50], window=4)
    DriftTrend(velocity=0.0833, is_accelerating=True)
    >>> drift_trend([0.1, 0.2, 0.3], window=4)
    DriftTrend(velocity=0.1, is_accelerating=False)
    """
    newest = overalls[-window:]
    if len(newest) < 2:
        return DriftTrend(None, is_accelerating=False)
    first, last = newest[0], newest[-1]
    if last <= first:
        # What rises with each record ends higher than it began.
        return DriftTrend(r4((last - first) / (len(newest) - 1)), is_accelerating=False)
    steps = [r4(after - before) for before, after in pairwise(newest)]
    accelerating = len(steps) >= 2 and min(steps) > 0 and steps[-1] > steps[0]
    return DriftTrend(r4((last - first) / len(steps)), accelerating)


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


_SIGNALS: Final = {
    "goal_dna_drift": "away from its goal",
    "loop_risk": "risk of a loop",
    "budget_velocity": "little progress",
    "quality_degradation": "worse context",
    "stuck_time": "stuck",
}
_SERIOUS: Final = 2
"""From the third of the five levels on: many a session that only begins reaches the second."""
_REASONS: Final = 2


class DriftPresentation(Presentation):
    """The overall drift, the signals that add most to it, and the suggestion."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.RESPONSE,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that drift is serious if it has become worse and asks for a new plan or more.

        >>> DriftPresentation().meaning({"level": "INJECT_REMINDER", "previous_level": "CONTINUE"}).serious
        False
        """
        level = LEVELS.index(fields["level"])
        return Meaning(
            serious=level >= _SERIOUS and level > LEVELS.index(fields["previous_level"]),
            fired=None if fields["level"] == CONTINUE else ("A5", fields["level"]),
        )

    def sentence(self, fields: Fields) -> str:
        """Return the drift and the suggestion."""
        parts = sorted(fields["contributions"].items(), key=lambda part: part[1], reverse=True)
        why = ", ".join(
            f"{_SIGNALS.get(name, name)} {value:.2f}" for name, value in parts[:_REASONS] if value
        )
        return f"drift {fields['overall']:.2f}{f' ({why})' if why else ''}. {fields['suggestion']}"

    def summary(self, block: Fields) -> str:
        """Return the level and the signals that are known."""
        signals = ", ".join(
            f"{name} {value:g}" for name, value in block["signals"].items() if value is not None
        )
        return f"{block['overall']:g} {block['level']}: {signals}"


#: The marks of the words of a goal.
_MOST_GOAL_BYTES = 1_280


class DriftState(NamedTuple):
    """What A5 keeps of a session.

    Attributes:
        goal: a `GoalState`, as it is `stored`.
        best, latest: the best context_quality so far and the latest, None before the first.
        result: the first `COMPARED` digits of `Decision.result_digest` of the last record.
        stuck: how many records in a row made no progress.
        overalls: the newest `trend_window` overall drifts, oldest first.
        level: the level of the last record.
    """

    goal: Sequence[Any] = GoalState().stored()
    best: float | None = None
    latest: float | None = None
    result: str | None = None
    stuck: int = 0
    overalls: Sequence[float] = ()
    level: str = CONTINUE


@dataclass(frozen=True, slots=True)
class Drift(Detector[DriftState, DriftSettings]):
    """A weighted sum of five signals of drift, the level it stands for, and where it is going.

    goal_dna_drift: the share of the goal's words that the newest `goal_window` records do not use. loop_risk:
    the confidence of A4. budget_velocity: how far the velocity of A6 falls short of `min_velocity`.
    quality_degradation: how much context_quality has lost since its best. stuck_time: records in a row
    without progress, as a share of `stuck_horizon`. A signal that is not known is null and adds nothing. A
    `response` is told when the level changes, also when it comes back to CONTINUE.

    Looks at every scored record.

    Source: specification 5.5 (document 002).

    >>> DEFAULTS = DriftSettings()
    >>> known = {
    ...     "session_id": "s",
    ...     "event_id": "e",
    ...     "meta": {"trace_id": "t", "timestamp": 0},
    ...     "identity": {"agent_id": "a", "agent_type": "coder"},
    ...     "cognition": {"intent": "fix the login bug", "goal": "Fix login bug in auth module"},
    ...     "action": {"status": "success", "tool_call": "read_file", "tool_input": '{"path": "auth.py"}'},
    ... }
    >>> detector = Drift()
    >>> decision = Decision.of(0, 0, known)
    >>> _, block, _ = detector.observe(detector.fresh(), decision, {"step": 1}, DEFAULTS)
    >>> block["signals"]["goal_dna_drift"], block["overall"], block["level"]
    (0.2, 0.07, 'CONTINUE')
    """

    name: ClassVar[str] = "drift"
    rules = DriftRules()
    presentation = DriftPresentation()
    reads: ClassVar[tuple[str, ...]] = ("loop", "budget")

    def fresh(self) -> DriftState:
        """Return a state without a goal, at CONTINUE."""
        return DriftState()

    def restore(self, stored: Sequence[Any]) -> DriftState:
        """Read back a state, also one of an earlier version."""
        state = DriftState(*stored)
        if type(state.goal[1]) is str:
            return state
        return state._replace(goal=GoalState.upgraded(state.goal).stored())

    def observe(
        self, state: DriftState, decision: Decision, eddy: Eddy, settings: DriftSettings
    ) -> Observation[DriftState]:
        """Take the signals, add them up, and tell a level that is another than before."""
        before, overalls = state.level, state.overalls
        goal, goal_drift = follow(state.goal, decision, settings.goal_window)
        quality = decision.context_quality
        best, latest = state.best, state.latest
        if quality is not None:
            best, latest = quality if best is None else max(best, quality), quality
        stuck = state.stuck + 1 if decision.is_without_progress(state.result) else 0
        loop, budget = eddy.get("loop"), eddy.get("budget")
        signals: Signals = {
            "goal_dna_drift": goal_drift,
            "loop_risk": 0.0 if loop is None else loop["confidence"],
            "budget_velocity": None if budget is None else _shortfall(budget["velocity"], settings),
            "quality_degradation": None if best is None or latest is None else clamped(best - latest),
            "stuck_time": min(1.0, stuck / settings.stuck_horizon) if stuck else 0.0,
        }

        overall = drift_overall(signals, settings.signal_weights)
        level = drift_level(overall, settings)
        overalls = [*overalls, overall][-settings.trend_window :]
        trend = drift_trend(overalls, settings.trend_window)
        rising = trend.is_accelerating and (trend.velocity or 0.0) > settings.trend_velocity
        block: Block = {
            "signals": {name: r4(value) if value else value for name, value in signals.items()},
            "overall": overall,
            "level": level,
            "trend": {"velocity": trend.velocity, "is_accelerating": trend.is_accelerating},
            "trend_level": one_higher(level) if rising else level,
        }
        findings: tuple[Finding, ...] = ()
        if level != before:
            findings = (_response(block, before, contributions(signals, settings.signal_weights)),)
        shown = decision.result_digest
        shown = None if shown is None else shown[:COMPARED]
        state = DriftState(goal, best, latest, shown, stuck, overalls, level)
        return state, block, findings

    def most_bytes(self, settings: DriftSettings) -> int:
        """Return the bound of its windows."""
        return settings.goal_window * (_MOST_GOAL_BYTES + 20) + settings.trend_window * 26

    def standing(self, state: DriftState, settings: DriftSettings) -> DetectorStanding:
        """Return the newest drift."""
        overall = state.overalls[-1] if state.overalls else None
        return DetectorStanding({"overall": overall, "level": state.level, "context_quality": state.latest})


def _shortfall(velocity: float | None, settings: DriftSettings) -> float | None:
    """Return how far the velocity is below the least that is asked for, as a share of it."""
    if velocity is None:
        return None
    return clamped((settings.min_velocity - velocity) / settings.min_velocity)


def _response(block: Block, before: str, parts: dict[str, float]) -> Finding:
    return Finding(
        EventKind.RESPONSE,
        {
            "level": block["level"],
            "previous_level": before,
            "overall": block["overall"],
            "contributions": parts,
            "trend_level": block["trend_level"],
            "trend": {**block["trend"]},
            "suggestion": SUGGESTIONS[block["level"]],
        },
    )


DETECTOR = Drift()
