"""Budgets in words, and which of them a person wants to know of."""

from typing import Any

import pytest

from streams.core.detectors.budget.detector import BudgetPresentation


def budget(**more: Any) -> dict[str, Any]:
    return {
        "event_type": "budget",
        "steps_budget": 50,
        "tokens_budget": 100_000,
        "steps_remaining": 0,
        "tokens_remaining": 10,
        "velocity": 0.01,
        "adjusted_by": None,
        "exhausted": True,
        "emergency": None,
        "total_progress": 0.4,
        **more,
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (budget(emergency="denied"), "the budget of 50 steps is used up after 40% of the task"),
        (budget(emergency="denied", velocity=None, steps_budget=9), "the budget of 9 steps is used up"),
        (
            budget(emergency="denied", steps_remaining=5, tokens_remaining=0),
            "the budget of 100,000 tokens is used up after 40% of the task",
        ),
        (
            budget(emergency="approved"),
            "near its goal, the budget was used up; extended to 50 steps, 100,000 tokens",
        ),
        (budget(adjusted_by=1.5), "budget x 1.5: 50 steps, 100,000 tokens"),
        (budget(exhausted=False), "the budget is enough again: 50 steps, 100,000 tokens"),
    ],
)
def test_every_change_has_words(fields: dict[str, Any], text: str) -> None:
    assert BudgetPresentation().sentence(fields) == text


@pytest.mark.parametrize(
    ("fields", "serious"),
    [
        (budget(emergency="denied"), True),
        (budget(emergency="approved"), True),
        (budget(emergency="denied", velocity=None), False),
        (budget(emergency="denied", velocity=None, steps_budget=500), True),
        (budget(emergency="denied", velocity=None, tokens_budget=10**6), False),
        (budget(emergency="denied", velocity=None, tokens_budget=10**6, tokens_remaining=0), True),
        (budget(adjusted_by=0.5), False),
    ],
)
def test_serious_is_a_used_up_budget_that_somebody_set_or_progress_moved(
    fields: dict[str, Any], serious: bool
) -> None:
    assert BudgetPresentation().meaning(fields).serious is serious


def test_a_budget_fires_when_it_is_used_up() -> None:
    assert BudgetPresentation().meaning(budget(emergency="denied")).fired == ("A6", "used up")
    assert BudgetPresentation().meaning(budget(emergency="denied", velocity=None)).fired is None, (
        "nobody set it"
    )
    assert BudgetPresentation().meaning(budget(adjusted_by=0.5)).fired is None
