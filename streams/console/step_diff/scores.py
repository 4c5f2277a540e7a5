"""The scores of a session, a column each, for strips below one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streams.console.step import RecordStep
from streams.core.detectors.drift.level import SIGNALS, THRESHOLDS, contributions
from streams.core.detectors.settings import DetectionSettings

_LEVELS: Final = {"NORMAL": 0, "WARNING": 1, "LOOP": 2}


def scores(steps: Sequence[RecordStep], settings: DetectionSettings) -> dict[str, Any]:
    """Return the columns, each as long as there are steps; None where a step has no such score.

    Args:
        steps: Those at hand, oldest first.
        settings: Those in force, for the lines of the thresholds and for what each signal adds to the drift.
    """

    def column(block: str, name: str) -> list[Any]:
        return [(step.record["eddy"].get(block) or {}).get(name) for step in steps]

    stuck: list[Mapping[str, Any] | None] = column("verdict", "stuck")
    drift: list[Mapping[str, Any]] = [step.record["eddy"].get("drift") or {} for step in steps]
    added = [_added(block, settings.signal_weights) for block in drift]
    return {
        "n": [step.number for step in steps],
        "at": [(step.record.get("meta") or {}).get("timestamp") for step in steps],
        "stuck": [(each or {}).get("score") for each in stuck],
        "uniqueness": column("uniqueness", "score"),
        "run_length": column("repeat", "run_length"),
        "run_threshold": column("repeat", "threshold"),
        "drift": [block.get("overall") for block in drift],
        "advice": [block.get("level") for block in drift],
        "contributions": {name: [each.get(name) for each in added] for name in SIGNALS},
        "steps_remaining": column("budget", "steps_remaining"),
        "tokens_remaining": column("budget", "tokens_remaining"),
        "cost": [(step.record.get("state_delta") or {}).get("cumulative_session_cost") for step in steps],
        "level": [
            _LEVELS.get((step.record["eddy"].get("verdict") or {}).get("level") or "") for step in steps
        ],
        "thresholds": {
            "stuck": [settings.stuck_warn, settings.stuck_loop],
            "uniqueness": [settings.entropy_warning_threshold, settings.entropy_loop_threshold],
            "drift": {level: getattr(settings, name) for level, name in THRESHOLDS.items()},
        },
        "settings_versions": sorted({step.record["eddy"]["settings_version"] for step in steps}),
    }


def _added(block: Mapping[str, Any], weights: Mapping[str, float]) -> Mapping[str, float]:
    """Return what each signal adds to the drift of a step; empty if the step has no drift."""
    signals = block.get("signals")
    return contributions({name: signals.get(name) for name in SIGNALS}, weights) if signals else {}
