"""How far each rule is from its limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from streams.detectors.verdict.cycle import PERIODS, repetitions
from streams.detectors.verdict.policy import limits_of, policy_of
from streams.detectors.verdict.same_error import Failure, failure_of
from streams.detectors.verdict.settings import VerdictSettings
from streams.detectors.verdict.state import VerdictState, any_failed
from streams.detectors.verdict.streak import Moment, Streak
from streams.detectors.verdict.stuck import NOT_STUCK
from streams.domain.level import Level
from streams.domain.number import r4
from streams.domain.tool_policy import ToolPolicy


@dataclass(frozen=True, slots=True)
class Standing:
    """What a rule counts at the newest judged record, and from what on it fires.

    Attributes:
        rule: R1 to R7.
        period: records of one repetition for R1 (1) and R2, None for the others.
        count: records, for R2 repetitions; 0 when the newest record does not count for the rule.
        warn, loop: limits on ``measure`` for WARNING and LOOP.
        tool: the tool the rule speaks of, bounded; None where it speaks of none, or of several (R2, R6, R7).
        onset: the first record of what is counted, None when the count is 0 or the record is the first.
        measure: what the limits are for: the count, for R7 the stuck score.
        can_fire: whether the newest record is one that the rule can fire at.
    """

    rule: str
    period: int | None
    count: int
    warn: float
    loop: float
    tool: str | None
    onset: Moment | None
    measure: float
    can_fire: bool = True

    @property
    def level(self) -> Level:
        """Return the level the rule gives.

        >>> Standing("R2", 2, 2, warn=2, loop=3, tool=None, onset=None, measure=2).level
        <Level.WARNING: 'WARNING'>
        """
        if not self.can_fire or self.measure < self.warn:
            return Level.NORMAL
        return Level.LOOP if self.measure >= self.loop else Level.WARNING


# Rule, period, count, warn, loop, tool and onset of a `Standing`. Most rules fire at no record, and need none
# made.
_Counted: TypeAlias = tuple[str, int | None, int, float, float, str | None, Moment | None]


def standings(state: VerdictState, settings: VerdictSettings) -> tuple[Standing, ...]:
    """Return where each rule stands after the newest judged record, in the order R1, R2 (short first) to R7.

    Rules that are switched off, and periods above `cycle_max_period`, are left out. R3 speaks of the tool of
    the newest record; when that did not fail, of the tool with the longest row of failures in the window.
    """
    if not settings.verdict_enabled or not state.judged:
        return ()
    tool = state.tools[-1]
    found = _all(state, tool, policy_of(tool, settings), settings, _worst_failure(state, tool))
    counted = [Standing(*each, measure=each[2]) for each in found]
    if "R7" in settings.verdict_rules:
        counted.append(_stuck(state, settings))
    if "R8" in settings.verdict_rules:
        counted.append(_stalled(state, settings))
    return tuple(counted)


def _stuck(state: VerdictState, settings: VerdictSettings) -> Standing:
    score, onset, count, _, raised = state.stuck or NOT_STUCK
    warn, loop = settings.stuck_warn, settings.stuck_loop
    return Standing("R7", None, count, warn, loop, None, onset, r4(score), raised)


def _stalled(state: VerdictState, settings: VerdictSettings) -> Standing:
    count, onset, counts = state.stalled or (0, None, False)
    warn, loop = settings.stalled_warn, settings.stalled_loop
    return Standing("R8", None, count, warn, loop, None, onset, count, counts)


def _all(
    state: VerdictState,
    tool: str | None,
    policy: ToolPolicy | None,
    settings: VerdictSettings,
    failing: tuple[str | None, Failure | None],
) -> Iterator[_Counted]:
    rules = settings.verdict_rules
    if "R1" in rules:
        warn, loop = limits_of(policy, failed=any_failed(state.outcomes[-1]), settings=settings)
        count, onset = (state.run[0], state.run[1]) if state.run else (1, None)
        yield "R1", 1, count, warn, loop, tool, onset
    if "R2" in rules:
        for period in PERIODS[: settings.cycle_max_period - 1]:
            count = repetitions(state, period)
            onset = state.cycles[period - PERIODS.start][1] if count else None
            yield "R2", period, count, settings.cycle_warn, settings.cycle_loop, None, onset
    if "R3" in rules:
        name, last = failing
        count, onset = (last.times, last.onset) if last is not None and last.varied else (0, None)
        yield "R3", None, count, settings.same_error_warn, settings.same_error_loop, name, onset
    if "R4" in rules:
        count, onset = _row(state.same_results)
        warn, loop = settings.same_result_warn, settings.same_result_loop
        yield "R4", None, count, warn, loop, tool, onset
    if "R5" in rules:
        count, onset = _row(state.near_duplicates)
        warn, loop = settings.near_duplicate_warn, settings.near_duplicate_loop
        yield "R5", None, count, warn, loop, tool, onset
    if "R6" in rules:
        count, onset = (state.nothing_new[0], state.nothing_new[1]) if state.nothing_new else (0, None)
        warn, loop = settings.nothing_new_warn, settings.nothing_new_loop
        yield "R6", None, count, warn, loop, None, onset


def _row(streak: Streak) -> tuple[int, Moment | None]:
    """Count and onset of a row, of which a rule speaks only when not all of it is equal."""
    return (streak[0], streak[1]) if streak and streak[2] else (0, None)


def _worst_failure(state: VerdictState, tool: str | None) -> tuple[str | None, Failure | None]:
    last = failure_of(state, tool)
    if last is not None or not state.errors:
        return tool, last
    worst = max(state.errors, key=lambda name: (state.errors[name][3], name))
    return worst, failure_of(state, worst)


def fired(state: VerdictState, policy: ToolPolicy | None, settings: VerdictSettings) -> list[Standing]:
    """Return the rules that the newest judged record fires, in the order of `standings`.

    Args:
        state: after the record.
        policy: what the operator says about its tool.
        settings: the settings in force.
    """
    tool = state.tools[-1]
    last = failure_of(state, tool) if state.errors and "R3" in settings.verdict_rules else None
    firing = []
    # No limit is below two, so where nothing came twice no row fires; that is most records.
    rows = state.run or state.cycles or state.same_results or state.near_duplicates or state.nothing_new
    if rows or last is not None:
        counted = _all(state, tool, policy, settings, (tool, last))
        firing = [Standing(*each, measure=each[2]) for each in counted if each[2] >= each[3]]
    if state.stuck and state.stuck[4] and "R7" in settings.verdict_rules:
        stuck = _stuck(state, settings)
        if stuck.measure >= stuck.warn:
            firing.append(stuck)
    if state.stalled and state.stalled[2] and "R8" in settings.verdict_rules:
        stalled = _stalled(state, settings)
        if stalled.measure >= stalled.warn:
            firing.append(stalled)
    return firing
