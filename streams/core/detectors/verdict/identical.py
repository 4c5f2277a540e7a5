"""R1: the same call with the same result again and again (specification 6.5)."""

from __future__ import annotations

from streams.core.detectors.verdict.comparing import is_pause
from streams.core.detectors.verdict.settings import VerdictSettings
from streams.core.detectors.verdict.state import VerdictState
from streams.core.detectors.verdict.streak import NO_STREAK, Streak, longer
from streams.core.domain.decision import Decision

SENTENCE = "{tools}: the same call with the same result, {count} times in a row"


def run_of(state: VerdictState, decision: Decision, pause: int, settings: VerdictSettings) -> Streak:
    """Return the run of equal signatures that the record ends; a pause begins a new one.

    Args:
        state: the verdict's state before the record.
        decision: the record that may continue a run.
        pause: ms since the record before it.
        settings: the settings in force.
    """
    if not state.signatures.endswith(decision.signature):
        return NO_STREAK
    if is_pause(pause, settings, failing=decision.status == "failure"):
        return NO_STREAK
    return longer(state.run, state.newest)
