"""Five signals of drift as one number, and what it calls for (specification 5.5)."""

from __future__ import annotations

from collections.abc import Mapping

from streams.core.detectors.drift.settings import DriftSettings
from streams.core.domain.number import r4

#: The names of the signals, in the order in which they are added up.
SIGNALS = ("goal_dna_drift", "loop_risk", "budget_velocity", "quality_degradation", "stuck_time")

Signals = Mapping[str, float | None]


def drift_overall(signals: Signals, weights: Mapping[str, float]) -> float:
    """Return the overall drift, 0 to 1, 4 decimals: the weighted sum of the signals.

    Args:
        signals: a value for each of `SIGNALS`, None where nothing is known.
        weights: setting `signal_weights`. They are not scaled up for signals that are not known.

    >>> from streams.core.detectors.drift.settings import DriftSettings
    >>> signals = dict(zip(SIGNALS, (0.45, 0.20, -0.30, 0.15, 0.10)))
    >>> drift_overall(signals, DriftSettings().signal_weights)
    0.295
    """
    overall = 0.0
    for name in SIGNALS:
        # Most signals of most records are 0 or not known, and add nothing.
        signal = signals[name]
        if signal:
            overall += weights[name] * _entering(name, signal)
    return r4(overall)


def contributions(signals: Signals, weights: Mapping[str, float]) -> dict[str, float]:
    """Return what each signal adds to the overall drift, 4 decimals, 0 where nothing is known."""
    return {name: r4(weights[name] * _entering(name, signals[name])) for name in SIGNALS}


def _entering(name: str, signal: float | None) -> float:
    """Return a signal as it enters the sum: 0 to 1, the velocity by its amount whatever its direction."""
    if not signal:
        return 0.0
    if name == "budget_velocity":
        signal = abs(signal)
    return clamped(signal)


def clamped(value: float) -> float:
    """Return the value, or the nearer end of 0 to 1."""
    return 0.0 if value <= 0.0 else min(1.0, value)


#: What an agent runtime is advised to do at each level, mildest first.
SUGGESTIONS = {
    "CONTINUE": "Continue normally.",
    "INJECT_REMINDER": "Remind the agent of its goal in the next prompt.",
    "SUMMARIZE_REPLAN": "Summarise what was done and make a new plan.",
    "CHECKPOINT_RESET": "Go back to the last good checkpoint.",
    "ASK_USER": "Ask the user for help and explain the situation.",
}
LEVELS = (*SUGGESTIONS,)
CONTINUE = LEVELS[0]

#: The setting at which each level begins, mildest first.
THRESHOLDS = {
    "INJECT_REMINDER": "nudge_threshold",
    "SUMMARIZE_REPLAN": "replan_threshold",
    "CHECKPOINT_RESET": "checkpoint_threshold",
    "ASK_USER": "stop_threshold",
}


def drift_level(overall: float, settings: DriftSettings) -> str:
    """Return the level of an overall drift. A threshold belongs to the level it begins.

    >>> DEFAULTS = DriftSettings()
    >>> drift_level(0.2999, DEFAULTS), drift_level(0.3, DEFAULTS), drift_level(1.0, DEFAULTS)
    ('CONTINUE', 'INJECT_REMINDER', 'ASK_USER')
    """
    if overall < settings.nudge_threshold:
        return "CONTINUE"
    if overall < settings.replan_threshold:
        return "INJECT_REMINDER"
    if overall < settings.checkpoint_threshold:
        return "SUMMARIZE_REPLAN"
    return "CHECKPOINT_RESET" if overall < settings.stop_threshold else "ASK_USER"


def one_higher(level: str) -> str:
    """Return the next level; the highest stays.

    >>> one_higher("CONTINUE"), one_higher("ASK_USER")
    ('INJECT_REMINDER', 'ASK_USER')
    """
    return LEVELS[min(LEVELS.index(level) + 1, len(LEVELS) - 1)]
