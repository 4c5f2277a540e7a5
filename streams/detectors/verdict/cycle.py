"""R2: a few steps taken in turns, with the same results each time (specification 6.5)."""

from __future__ import annotations

from collections.abc import Sequence

from streams.detectors.verdict.moments import moment_back
from streams.detectors.verdict.spacing import is_spaced
from streams.detectors.verdict.state import RECENT, SIGNATURE, VerdictState, any_failed, any_polling
from streams.detectors.verdict.streak import NO_STREAK, Streak
from streams.domain.decision import Decision

SENTENCE = "{tools}: the same {period} steps with the same results, {count} times round"
PERIODS = range(2, RECENT + 1)


def cycles_of(state: VerdictState, decision: Decision, outcome: str, poll_gap_ms: int) -> Sequence[Streak]:
    """Return for each period how many records in a row, the newest included, equal the one a period earlier.

    The onset is that of the whole pattern, one period before the first such record. All periods are counted,
    whatever `cycle_max_period` is, so that a change of it takes effect at once.

    Args:
        state: before the record.
        decision: the record.
        outcome: its letter.
        poll_gap_ms: the setting.
    """
    signature, signatures = decision.signature, state.signatures
    held = state.cycles
    cycles: list[Streak] = []
    for at, period in enumerate(PERIODS):
        if not signatures.endswith(signature, 0, max(0, len(signatures) - SIGNATURE * (period - 1))):
            cycles.append(NO_STREAK)
            continue
        earlier = moment_back(state.moments, period - 1)
        failing = any_failed(state.outcomes[1 - period :] + outcome)
        if is_spaced(decision.timestamp, earlier[1], poll_gap_ms, failing=failing):
            cycles.append(NO_STREAK)
        elif held and held[at]:
            count, onset, varied = held[at]
            cycles.append((count + 1, onset, varied))
        else:
            cycles.append((1, earlier, False))
    return cycles if any(cycles) else ()


def repetitions(state: VerdictState, period: int) -> int:
    """Return how often the last ``period`` records stand in a row, 0 when they are no cycle.

    They are one when they hold two signatures at least and no tool that polls.
    """
    if not state.cycles or not state.cycles[period - PERIODS.start]:
        return 0
    if len(set(state.newest_signatures(period))) == 1 or any_polling(state.outcomes[-period:]):
        return 0
    count: int = state.cycles[period - PERIODS.start][0]
    return count // period + 1
