"""R2: steps taken in turns, with the same results each time (specification 6.5).

Short cycles, of up to `RECENT` steps, are compared whole. A longer one is followed by a mark of each of the
newest steps: as long as step after step equals the one a period before, but for one in seven, the agent goes
in a circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streams.core.detectors.verdict.comparing import is_pause
from streams.core.detectors.verdict.settings import VerdictSettings
from streams.core.detectors.verdict.state import RECENT, SIGNATURE, VerdictState, any_failed, any_polling
from streams.core.detectors.verdict.streak import EACH, NO_STREAK, Circle, Moment, Streak, moment_back
from streams.core.domain.decision import Decision

SENTENCE = "{tools}: the same {period} steps with the same results, {count} times round"
PERIODS = range(2, RECENT + 1)

#: Digits of a signature that mark a step in the trail, and the steps of the longest circle.
TRAIL_MARK: Final = 3
LONGEST: Final = 60
_TOLERANCE: Final = 6


def cycles_of(
    state: VerdictState, decision: Decision, outcome: str, pause: int, settings: VerdictSettings
) -> Sequence[Streak]:
    """Return for each short period how many records in a row equal the one a period earlier.

    The onset is that of the whole pattern, one period before the first such record. All short periods are
    counted, whatever `cycle_max_period` is, so that a change of it takes effect at once.

    Args:
        state: the verdict's state before the record.
        decision: the record that may continue a cycle.
        outcome: letter of its status, as `outcome_of` gives it.
        pause: ms since the record before it.
        settings: the settings in force.
    """
    signature, signatures = decision.signature, state.signatures
    held, moments = state.cycles, state.moments
    cycles: list[Streak] = []
    longest = pause
    for at, period in enumerate(PERIODS):
        if len(moments) > EACH * (period - 1):
            longest = max(longest, moments[EACH * (period - 1) + 1])
        if not signatures.endswith(signature, 0, max(0, len(signatures) - SIGNATURE * (period - 1))):
            cycles.append(NO_STREAK)
            continue
        failing = any_failed(state.outcomes[1 - period :] + outcome)
        if is_pause(longest, settings, failing=failing):
            cycles.append(NO_STREAK)
        elif held and held[at]:
            count, onset, varied = held[at]
            cycles.append((count + 1, onset, varied))
        else:
            cycles.append((1, moment_back(moments, period - 1), False))
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


def circle_of(
    state: VerdictState, decision: Decision, moment: Moment, pause: int, settings: VerdictSettings
) -> Circle:
    """Return the circle of more than `RECENT` steps that the record is on, empty without one.

    Args:
        state: the verdict's state before the record.
        decision: the record that may continue a circle.
        moment: offset, time in ms, tokens and cost at the record.
        pause: ms since the record before it; a pause ends a circle.
        settings: the settings in force.
    """
    step, trail = decision.signature[:TRAIL_MARK], state.trail
    circle = state.circle
    if is_pause(pause, settings, failing=decision.status == "failure"):
        circle = ()
    if circle:
        period, matched, missed, onset = circle
        at = len(trail) - TRAIL_MARK * period
        if at >= 0 and trail[at : at + TRAIL_MARK] == step:
            return (period, matched + 1, missed, onset)
        if (missed + 1) * _TOLERANCE <= matched:
            return (period, matched, missed + 1, onset)
    at = trail.rfind(step)
    while at >= 0 and at % TRAIL_MARK:
        at = trail.rfind(step, 0, at + TRAIL_MARK - 1)
    period = (len(trail) - at) // TRAIL_MARK
    # A step that came again sooner is on no long circle.
    return (period, 1, 0, moment) if at >= 0 and period > RECENT else ()


def rounds_of(circle: Circle) -> int:
    """Return how many times round a circle the agent has gone, 0 before the second time is complete.

    >>> rounds_of((10, 9, 0, ())), rounds_of((10, 9, 1, ())), rounds_of((10, 20, 0, ()))
    (0, 2, 3)
    """
    if not circle:
        return 0
    period, matched, missed, _ = circle
    rounds: int = (matched + missed) // period
    return rounds + 1 if rounds else 0
