"""A6: how many steps and tokens a session may still use, by the progress it makes (specification 5.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, ClassVar, Final, NamedTuple

from streams.core.detectors.budget.settings import BudgetSettings
from streams.core.detectors.detector import (
    Block,
    Detector,
    DetectorStanding,
    Eddy,
    Fields,
    Meaning,
    Observation,
    Presentation,
)
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.number import added, r4, within_doubles
from streams.core.domain.outcome import Finding


class BudgetPresentation(Presentation):
    """How a budget changed, and whether it is used up."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.BUDGET,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that a budget is serious if a session that reports its progress has used it up."""
        emergency = fields["emergency"]
        serious = emergency is not None and (emergency == "approved" or granted(fields)["exhausted"])
        word = "extended" if emergency == "approved" else "used up"
        return Meaning(serious=serious, fired=("A6", word) if serious else None)

    def sentence(self, fields: Fields) -> str:
        """Return what became of the budgets."""
        steps, tokens = f"{fields['steps_budget']:,} steps", f"{fields['tokens_budget']:,.0f} tokens"
        match fields:
            case {"emergency": "approved"}:
                return f"near its goal, the budget was used up; extended to {steps}, {tokens}"
            case {"emergency": "denied"}:
                given = granted(fields)
                spent = steps if (given if given["exhausted"] else fields)["steps_remaining"] == 0 else tokens
                at = (
                    f" after {fields['total_progress']:.0%} of the task"
                    if fields["velocity"] is not None
                    else ""
                )
                return f"the budget of {spent} is used up{at}"
            case {"adjusted_by": None}:
                return f"the budget is enough again: {steps}, {tokens}"
            case _:
                return f"budget x {fields['adjusted_by']:g}: {steps}, {tokens}"

    def summary(self, block: Fields) -> str:
        """Return what is left of the budgets that somebody set.

        >>> used = {"steps_budget": 50, "steps_remaining": 42, "tokens_budget": 2e6, "tokens_remaining": 3e5}
        >>> BudgetPresentation().summary({**used, "velocity": None})
        '300,000 of 2,000,000 tokens left'
        """
        given = granted(block)
        left = [
            f"{given[f'{unit}_remaining']:,.0f} of {given[f'{unit}_budget']:,.0f} {unit} left"
            for unit in _DEFAULTS
            if given[f"{unit}_budget"] is not None
        ]
        return f"{', '.join(left) or 'none set'}{', exhausted' if given['exhausted'] else ''}"


_DEFAULTS: Final = {
    "steps": BudgetSettings().initial_steps,
    "tokens": BudgetSettings().initial_tokens,
}


def granted(fields: Fields) -> Fields:
    """Return the budgets that somebody set or progress has moved, as far as a person should see them.

    A session without progress uses the default budgets up after 50 steps, whether or not anybody set a limit.

    Args:
        fields: A block of this detector, or an event of it.

    Returns:
        Both budgets and what is left of them, None where nobody set it; and whether one of these is used up.

    >>> used = {"steps_budget": 50, "steps_remaining": 0, "tokens_budget": 2e6, "tokens_remaining": 3e5}
    >>> [granted({**used, "velocity": each})["steps_remaining"] for each in (None, 0.1)]
    [None, 0]
    """
    found: dict[str, Any] = {"exhausted": False}
    for unit, default in _DEFAULTS.items():
        budget, left = fields.get(f"{unit}_budget"), fields.get(f"{unit}_remaining")
        is_set = fields.get("velocity") is not None or budget != default
        found |= {f"{unit}_budget": budget if is_set else None, f"{unit}_remaining": left if is_set else None}
        found["exhausted"] = found["exhausted"] or (is_set and left == 0)
    return found


class BudgetState(NamedTuple):
    """What A6 keeps of a session.

    Attributes:
        steps_budget, tokens_budget: what may be used, at least 1; 0 before the session begins.
        steps_used, tokens_used: what was used, since the session began.
        deltas: the newest `velocity_window` progress deltas, oldest first.
        counted: how many records had a progress delta.
        streak: how many of them in a row, up to the newest, were no progress.
        total: sum of all progress deltas, unrounded.
        exhausted: whether a budget was used up after the last record.
        extensions: how often an emergency extended the budgets.
    """

    steps_budget: int = 0
    tokens_budget: float = 0
    steps_used: int = 0
    tokens_used: float = 0
    deltas: Sequence[float] = ()
    counted: int = 0
    streak: int = 0
    total: float = 0.0
    exhausted: bool = False
    extensions: int = 0


@dataclass(frozen=True, slots=True)
class Budget(Detector[BudgetState, BudgetSettings]):
    """Two budgets, of steps and of tokens, that grow with progress and shrink without.

    Velocity is the mean of the newest `velocity_window` progress deltas. With every `velocity_window`-th
    delta both budgets are multiplied by `expansion_factor` when it reaches `min_velocity`, else by
    `contraction_factor`; with every `stuck_steps`-th delta in a row that is no progress, by
    `stuck_contraction_factor`. A session that uses a budget up near its goal is extended once.

    Takes state_delta.tokens_consumed and progress_delta (share of the task). Looks at every scored record.

    Source: specification 5.6 (document 002).

    >>> DEFAULTS = BudgetSettings()
    >>> known = {
    ...     "session_id": "s",
    ...     "event_id": "e",
    ...     "meta": {"trace_id": "t", "timestamp": 0},
    ...     "identity": {"agent_id": "a", "agent_type": "coder"},
    ...     "action": {"status": "success"},
    ...     "state_delta": {"tokens_consumed": 1500, "progress_delta": 0.05},
    ... }
    >>> detector, state, budgets = Budget(), Budget().begin(DEFAULTS), []
    >>> for offset in range(10):
    ...     state, block, _ = detector.observe(state, Decision.of(0, offset, known), {}, DEFAULTS)
    ...     budgets.append(block["steps_budget"])
    >>> budgets, block["velocity"], block["tokens_remaining"]
    ([50, 50, 50, 50, 50, 50, 50, 50, 50, 75], 0.05, 135000)
    """

    name: ClassVar[str] = "budget"
    presentation = BudgetPresentation()

    def fresh(self) -> BudgetState:
        """Return a state without budgets."""
        return BudgetState()

    def begin(self, settings: BudgetSettings) -> BudgetState:
        """Return the initial budgets, nothing used."""
        return BudgetState(settings.initial_steps, settings.initial_tokens)

    def restore(self, stored: Sequence[Any]) -> BudgetState:
        """Read back a state."""
        return BudgetState(*stored)

    def observe(
        self,
        state: BudgetState,
        decision: Decision,
        eddy: Eddy,
        settings: BudgetSettings,
    ) -> Observation[BudgetState]:
        """Count what the record used and how far it came; adjust the budgets; tell a change."""
        if state.steps_budget == 0:
            state = self.begin(settings)
        steps, tokens, steps_used, tokens_used, deltas, counted, streak, total, before, extensions = state
        steps_used += 1
        tokens_used = within_doubles(tokens_used + decision.tokens_used)
        used = r4(tokens_used) if type(tokens_used) is float else tokens_used

        delta = decision.progress_delta
        if delta is not None:
            deltas = [*deltas, float(delta)][-settings.velocity_window :]
            counted += 1
            streak = streak + 1 if delta <= 0 else 0
            total = within_doubles(total + deltas[-1])
        velocity = factor = adjusted_by = None
        if deltas:
            velocity = velocity_of(deltas)
            factor = _factor(streak, velocity, settings)
            if delta is not None:
                adjusted_by = _adjustment(counted, streak, factor, settings)
        if adjusted_by is not None:
            most = settings.budget_cap_factor
            steps = _scaled(steps, adjusted_by, floor(settings.initial_steps * most))
            tokens = _scaled(tokens, adjusted_by, floor(settings.initial_tokens * most))

        progress = r4(total)
        exhausted = steps_used >= steps or used >= tokens
        emergency = None
        if exhausted and not before:
            emergency = "denied"
            near = progress > settings.emergency_progress
            if near and extensions == 0 and settings.enable_emergency_extensions:
                emergency = "approved"
                extensions += 1
                steps = max(steps, steps_used) + settings.emergency_steps
                tokens = max(tokens, used) + settings.emergency_tokens
                exhausted = steps_used >= steps or used >= tokens

        steps_remaining, tokens_remaining = steps - steps_used, tokens - used
        if type(tokens_remaining) is float:
            tokens_remaining = r4(tokens_remaining)
        block: Block = {
            "steps_budget": steps,
            "tokens_budget": tokens,
            "steps_remaining": max(0, steps_remaining),
            "tokens_remaining": max(0, tokens_remaining),
            "velocity": velocity,
            "adjustment_factor": None if factor is None else r4(factor),
            "adjusted_by": None if adjusted_by is None else r4(adjusted_by),
            "exhausted": exhausted,
            "emergency": emergency,
            "total_progress": progress,
            "tokens_used": used,
        }
        state = BudgetState(
            steps, tokens, steps_used, tokens_used, deltas, counted, streak, total, exhausted, extensions
        )
        if adjusted_by is None and emergency is None and exhausted is before:
            return state, block, ()
        return state, block, (Finding(EventKind.BUDGET, block),)

    def most_bytes(self, settings: BudgetSettings) -> int:
        """Return the bound of its windows."""
        return settings.velocity_window * 26

    def standing(self, state: BudgetState, settings: BudgetSettings) -> DetectorStanding:
        """Return the budgets, and what was used of them."""
        return DetectorStanding(
            {
                "steps_used": state.steps_used,
                "steps_budget": state.steps_budget,
                "tokens_used": state.tokens_used,
                "tokens_budget": state.tokens_budget,
                "velocity": velocity_of(state.deltas) if state.deltas else None,
                "total_progress": r4(state.total),
                "exhausted": state.exhausted,
            }
        )


def velocity_of(deltas: Sequence[float]) -> float:
    """Return the mean of progress deltas, at least one, 4 decimals."""
    return r4(within_doubles(added(deltas)) / len(deltas))


def _factor(streak: int, velocity: float, settings: BudgetSettings) -> float:
    """What the rule says now."""
    if streak >= settings.stuck_steps:
        return settings.stuck_contraction_factor
    return settings.expansion_factor if velocity >= settings.min_velocity else settings.contraction_factor


def _adjustment(counted: int, streak: int, factor: float, settings: BudgetSettings) -> float | None:
    """What the budgets are multiplied by on a record with progress, None when this is not the time."""
    if streak > 0 and streak % settings.stuck_steps == 0:
        return settings.stuck_contraction_factor
    return factor if counted % settings.velocity_window == 0 else None


def _scaled(budget: float, factor: float, most: int) -> int:
    # Rounded first, so that 100 x 1.15 is 115 and not the 114 that lies below 114.99999999999999.
    return max(1, floor(round(min(budget * factor, most), 6)))


DETECTOR = Budget()
