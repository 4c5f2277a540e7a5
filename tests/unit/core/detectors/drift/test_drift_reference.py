"""A5 keeps ages of words and lengths of runs. Here it is held against its definition over all records."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.decision import Decision
from streams.core.domain.number import r4
from streams.core.domain.text.marks import tokens
from tests.unit.core.detectors.histories import Seen, histories

WEIGHTS = st.sampled_from(
    [
        {
            "goal_dna_drift": goal,
            "loop_risk": 0.0,
            "budget_velocity": 0.0,
            "quality_degradation": 1 - goal,
            "stuck_time": 0.0,
        }
        for goal in (0.0, 0.5, 1.0)
    ]
)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "goal_window": st.integers(1, 6),
        "stuck_horizon": st.integers(1, 6),
        "trend_window": st.integers(2, 6),
        "trend_velocity": st.sampled_from([0.0, 0.1]),
        "min_velocity": st.sampled_from([0.1, 1.0]),
        "signal_weights": WEIGHTS,
        "nudge_threshold": st.sampled_from([0.0, 0.1, 0.3]),
        "stop_threshold": st.sampled_from([0.75, 1.0]),
        "score_statuses": st.sampled_from([["success", "failure"], ["success", "failure", "skipped"]]),
    },
)
STOP_LIST = (
    "the and for with from that this into then are was has have not but you your its all any can will should "
    "must please"
)
LEVELS = ["CONTINUE", "INJECT_REMINDER", "SUMMARIZE_REPLAN", "CHECKPOINT_RESET", "ASK_USER"]


def goal_words(text: str | None) -> set[str]:
    return {*sorted(word for word in tokens(text) if len(word) >= 3 and word not in STOP_LIST.split())[:256]}


def spoken(decision: Decision) -> set[str]:
    parts = (decision.intent, decision.tool, decision.canonical_input, decision.target)
    return goal_words(" ".join(part for part in parts if part))


def clamped(value: float) -> float:
    return max(0, min(1, value))


def signals(history: list[Seen]) -> dict[str, float | None]:
    """The signals of the last record, unrounded."""
    _, settings, eddy = history[-1]
    goals = [goal_words(decision.goal) for decision, _, _ in history]
    goal = next((words for words in goals if words), None)
    window: list[set[str]] = []
    for decision, in_force, _ in history:
        window = [*window, spoken(decision)][-in_force.goal_window :]

    qualities = [decision.context_quality for decision, _, _ in history]
    known = [quality for quality in qualities if quality is not None]

    stuck, result = 0, None
    for decision, _, _ in history:
        stuck = stuck + 1 if decision.is_without_progress(result) else 0
        result = decision.result_digest

    velocity = eddy["budget"]["velocity"]
    least = settings.min_velocity
    return {
        "goal_dna_drift": None if goal is None else 1 - len(goal & set().union(*window)) / len(goal),
        "loop_risk": eddy["loop"]["confidence"],
        "budget_velocity": None if velocity is None else clamped((least - velocity) / least),
        "quality_degradation": clamped(max(known) - known[-1]) if known else None,
        "stuck_time": min(1, stuck / settings.stuck_horizon),
    }


def reports(history: list[Seen]) -> list[dict[str, Any]]:
    """The block of each record, and what is told when its level changes."""
    told: list[dict[str, Any]] = []
    overalls: list[float] = []
    previous = "CONTINUE"
    for length in range(1, len(history) + 1):
        settings = history[length - 1].settings
        found = signals(history[:length])
        added = {name: settings.signal_weights[name] * (value or 0) for name, value in found.items()}
        overall = r4(sum(added.values()))
        limits = (
            settings.nudge_threshold,
            settings.replan_threshold,
            settings.checkpoint_threshold,
            settings.stop_threshold,
        )
        level = sum(overall >= limit for limit in limits)
        overalls = [*overalls, overall][-settings.trend_window :]
        steps = [r4(overalls[at] - overalls[at - 1]) for at in range(1, len(overalls))]
        velocity = r4((overalls[-1] - overalls[0]) / len(steps)) if steps else None
        accelerating = len(steps) > 1 and all(step > 0 for step in steps) and steps[-1] > steps[0]
        escalated = accelerating and velocity is not None and velocity > settings.trend_velocity
        block = {
            "signals": {name: None if value is None else r4(value) for name, value in found.items()},
            "overall": overall,
            "level": LEVELS[level],
            "trend": {"velocity": velocity, "is_accelerating": accelerating},
            "trend_level": LEVELS[min(level + escalated, 4)],
        }
        contributions = {name: r4(value) for name, value in added.items()}
        response = (previous, contributions) if block["level"] != previous else None
        told.append({"block": block, "response": response})
        previous = block["level"]
    return told


def response_of(eddy: dict[str, Any]) -> tuple[str, dict[str, float]] | None:
    events = [event for event in eddy["events"] if event["event_type"] == "response"]
    assert len(events) <= 1
    return (events[0]["previous_level"], events[0]["contributions"]) if events else None


@given(histories(CHANGES))
def test_it_says_what_the_whole_history_says(history: list[Seen]) -> None:
    for seen, expected in zip(history, reports(history), strict=True):
        assert seen.eddy["drift"] == expected["block"]
        assert response_of(seen.eddy) == expected["response"]
