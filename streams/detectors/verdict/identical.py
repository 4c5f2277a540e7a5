"""R1: the same call with the same result again and again (specification 6.5)."""

from __future__ import annotations

from streams.detectors.verdict.spacing import is_spaced
from streams.detectors.verdict.state import VerdictState
from streams.detectors.verdict.streak import NO_STREAK, Streak, longer
from streams.domain.decision import Decision

SENTENCE = "{tools}: the same call with the same result, {count} times in a row"


def run_of(state: VerdictState, decision: Decision, poll_gap_ms: int) -> Streak:
    """Return the run of equal signatures that the record ends; a spaced record starts a new one.

    Args:
        state: before the record.
        decision: the record.
        poll_gap_ms: the setting.
    """
    if not state.signatures.endswith(decision.signature):
        return NO_STREAK
    previous = state.newest
    failing = decision.status == "failure"
    if is_spaced(decision.timestamp, previous[1], poll_gap_ms, failing=failing):
        return NO_STREAK
    return longer(state.run, previous)
