"""Drift in words, and which responses a person wants to know of."""

from typing import Any

import pytest

from streams.core.detectors.drift.detector import DriftPresentation


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
    ],
)
def test_a_response_names_the_signals_that_add_most(fields: dict[str, Any], text: str) -> None:
    assert DriftPresentation().sentence(fields) == text


@pytest.mark.parametrize(
    ("fields", "serious"),
    [
        (response("INJECT_REMINDER", "CONTINUE"), False),
        (response("SUMMARIZE_REPLAN", "INJECT_REMINDER"), True),
        (response("ASK_USER", "CHECKPOINT_RESET"), True),
        (response("SUMMARIZE_REPLAN", "CHECKPOINT_RESET"), False),
    ],
)
def test_serious_is_what_has_become_worse(fields: dict[str, Any], serious: bool) -> None:
    assert DriftPresentation().meaning(fields).serious is serious


def test_a_response_is_advice_and_fires_above_continue() -> None:
    worse = DriftPresentation().meaning(response("ASK_USER", "CONTINUE"))
    better = DriftPresentation().meaning(response("CONTINUE", "ASK_USER"))
    assert (worse.alert, worse.fired) == (None, ("A5", "ASK_USER"))
    assert (better.alert, better.fired) == (None, None)
