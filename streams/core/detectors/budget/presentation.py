"""A6 in words."""

from __future__ import annotations

from typing import ClassVar

from streams.core.detectors.presentation import Fields, Meaning, Presentation
from streams.core.domain.event import EventKind


class BudgetPresentation(Presentation):
    """How a budget changed, and whether it is used up."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.BUDGET,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that a budget is serious if a session that reports its progress has used it up."""
        emergency = fields["emergency"]
        return Meaning(
            # Every session without progress that is long enough uses its first budget up.
            serious=emergency is not None and fields["velocity"] is not None,
            fired=None if emergency is None else ("A6", emergency),
        )

    def sentence(self, fields: Fields) -> str:
        """Return what became of the budgets."""
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

    def summary(self, block: Fields) -> str:
        """Return what is left of the budgets."""
        return (
            f"{block['steps_remaining']:,} of {block['steps_budget']:,} steps left, "
            f"{block['tokens_remaining']:,.0f} of {block['tokens_budget']:,.0f} tokens left"
            f"{', exhausted' if block['exhausted'] else ''}"
        )
