"""What a drift calls for, from nothing to asking the user (specification 5.5)."""

from __future__ import annotations

from streams.core.detectors.drift.settings import DriftSettings

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
