"""Responses and budgets in words, and which of them a person wants to know of."""

from typing import Any

import pytest

from streams.explain.advice import advice, is_serious


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


def response(level: str, previous: str, **contributions: float) -> dict[str, Any]:
    return {
        "event_type": "response",
        "level": level,
        "previous_level": previous,
        "overall": 0.55,
        "contributions": contributions,
        "suggestion": "Do it.",
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            response("SUMMARIZE_REPLAN", "CONTINUE", loop_risk=0.1, goal_dna_drift=0.3, stuck_time=0.05),
            "drift 0.55 (away from its goal 0.30, risk of a loop 0.10). Do it.",
        ),
        (response("CONTINUE", "INJECT_REMINDER", loop_risk=0.0), "drift 0.55. Do it."),
        (budget(emergency="denied"), "the budget of 50 steps is used up after 40% of the task"),
        (
            budget(emergency="denied", steps_remaining=5),
            "the budget of 100,000 tokens is used up after 40% of the task",
        ),
        (
            budget(emergency="approved"),
            "near its goal, the budget was used up; extended to 50 steps, 100,000 tokens",
        ),
        (budget(adjusted_by=1.5), "budget x 1.5: 50 steps, 100,000 tokens"),
        (budget(exhausted=False), "the budget is enough again: 50 steps, 100,000 tokens"),
        ({"event_type": "node_state"}, None),
    ],
)
def test_advice_has_words(fields: dict[str, Any], text: str | None) -> None:
    assert advice(fields) == text


@pytest.mark.parametrize(
    ("fields", "serious"),
    [
        (response("INJECT_REMINDER", "CONTINUE"), False),
        (response("SUMMARIZE_REPLAN", "INJECT_REMINDER"), True),
        (response("ASK_USER", "CHECKPOINT_RESET"), True),
        (response("SUMMARIZE_REPLAN", "CHECKPOINT_RESET"), False),
        (budget(emergency="denied"), True),
        (budget(emergency="approved"), True),
        (budget(emergency="denied", velocity=None), False),
        (budget(adjusted_by=0.5), False),
        ({"event_type": "node_state"}, False),
    ],
)
def test_serious_is_what_has_become_worse(fields: dict[str, Any], serious: bool) -> None:
    assert is_serious(fields) is serious
