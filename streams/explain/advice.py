"""What agent runtimes are told, in words: drift and what can be done about it, and budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streams.detectors.drift.level import LEVELS
from streams.domain.event import EventKind

_SIGNALS: Final = {
    "goal_dna_drift": "away from its goal",
    "loop_risk": "risk of a loop",
    "budget_velocity": "little progress",
    "quality_degradation": "worse context",
    "stuck_time": "stuck",
}
_SERIOUS: Final = 2
"""From the third of the five levels on; the second is reached by many a session that only begins."""
_REASONS: Final = 2


def advice(fields: Mapping[str, Any]) -> str | None:
    """What a response or a budget says, in one line safe to print; None for other events."""
    match fields["event_type"]:
        case EventKind.RESPONSE:
            return _response(fields)
        case EventKind.BUDGET:
            return _budget(fields)
        case _:
            return None


def is_serious(fields: Mapping[str, Any]) -> bool:
    """Whether a person wants to know.

    That is so when drift has become worse and asks for a new plan or more, and when the budget of a session
    that reports its progress is used up.

    >>> is_serious({"event_type": "response", "level": "INJECT_REMINDER", "previous_level": "CONTINUE"})
    False
    """
    match fields["event_type"]:
        case EventKind.RESPONSE:
            level = LEVELS.index(fields["level"])
            return level >= _SERIOUS and level > LEVELS.index(fields["previous_level"])
        case EventKind.BUDGET:
            # Without progress every session that is long enough uses its first budget up.
            return fields["emergency"] is not None and fields["velocity"] is not None
        case _:
            return False


def _response(fields: Mapping[str, Any]) -> str:
    parts = sorted(fields["contributions"].items(), key=lambda part: part[1], reverse=True)
    why = ", ".join(f"{_SIGNALS.get(name, name)} {value:.2f}" for name, value in parts[:_REASONS] if value)
    return f"drift {fields['overall']:.2f}{f' ({why})' if why else ''}. {fields['suggestion']}"


def _budget(fields: Mapping[str, Any]) -> str:
    steps, tokens = f"{fields['steps_budget']:,} steps", f"{fields['tokens_budget']:,.0f} tokens"
    match fields:
        case {"emergency": "approved"}:
            return f"near its goal, the budget was used up; extended to {steps}, {tokens}"
        case {"emergency": "denied"}:
            spent = steps if fields["steps_remaining"] == 0 else tokens
            return f"the budget of {spent} is used up after {fields['total_progress']:.0%} of the task"
        case {"adjusted_by": None}:
            return f"the budget is enough again: {steps}, {tokens}"
        case _:
            return f"budget x {fields['adjusted_by']:g}: {steps}, {tokens}"
