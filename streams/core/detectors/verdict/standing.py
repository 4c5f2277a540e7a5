"""How far each rule is from its limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streams.core.detectors.verdict.cycle import PERIODS, repetitions, rounds_of
from streams.core.detectors.verdict.settings import VerdictSettings, limits_of, policy_of
from streams.core.detectors.verdict.state import RECENT, VerdictState, any_failed
from streams.core.detectors.verdict.streak import Moment
from streams.core.detectors.verdict.stuck import NOT_STUCK
from streams.core.detectors.verdict.waiting import minutes_of
from streams.core.domain.level import Level
from streams.core.domain.number import r4
from streams.core.domain.tool_class import ToolPolicy


@dataclass(frozen=True, slots=True)
class Standing:
    """What a rule counts at the newest judged record, and from what on it fires.

    Attributes:
        rule: R1, R2, R7 or R9.
        period: records of one repetition for R1 (1) and R2, None for the others.
        count: records, for R2 repetitions, for R9 looks; 0 when the newest record does not count for the
            rule.
        warn, loop: limits on ``measure`` for WARNING and LOOP.
        tool: the tool the rule speaks of, bounded; None where it speaks of none, or of several (R2, R7).
        onset: the first record of what is counted, None when the count is 0 or the record is the first.
        measure: what the limits are for: the count, for R7 the stuck score, for R9 whole minutes.
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


def standings(state: VerdictState, settings: VerdictSettings) -> tuple[Standing, ...]:
    """Return where each rule stands after the newest judged record: R1, R2 (short first), R7, R9.

    Rules that are switched off, and periods above `cycle_max_period`, are left out.
    """
    if not settings.verdict_enabled or not state.tools:
        return ()
    return tuple(_all(state, policy_of(state.tools[-1], settings), settings))


def fired(state: VerdictState, policy: ToolPolicy | None, settings: VerdictSettings) -> list[Standing]:
    """Return the rules that the newest judged record fires, in the order of `standings`.

    Args:
        state: the verdict's state after the record.
        policy: what the operator says about its tool.
        settings: the settings in force.
    """
    # No limit is below two, so where nothing came twice nothing fires; that is most records.
    raised = state.stuck and state.stuck[4] and r4(state.stuck[0]) >= settings.stuck_warn
    if not (state.run or state.cycles or state.circle or state.waiting or raised):
        return []
    return [each for each in _all(state, policy, settings) if each.can_fire and each.measure >= each.warn]


def _all(state: VerdictState, policy: ToolPolicy | None, settings: VerdictSettings) -> Iterator[Standing]:
    rules, tool = settings.verdict_rules, state.tools[-1]
    if "R1" in rules:
        failed = any_failed(state.outcomes[-1])
        least, most = limits_of(policy, failed=failed, acknowledged=state.acknowledged, settings=settings)
        count, onset = (state.run[0], state.run[1]) if state.run else (1, None)
        yield Standing("R1", 1, count, least, most, tool, onset, count)
    if "R2" in rules:
        warn: float = settings.cycle_warn
        loop: float = settings.cycle_loop
        for period in PERIODS[: settings.cycle_max_period - 1]:
            count = repetitions(state, period)
            onset = state.cycles[period - PERIODS.start][1] if count else None
            yield Standing("R2", period, count, warn, loop, None, onset, count)
        if state.circle and RECENT < state.circle[0] <= settings.cycle_max_period:
            count = rounds_of(state.circle)
            yield Standing(
                "R2", state.circle[0], count, warn, loop, None, state.circle[3] if count else None, count
            )
    if "R7" in rules:
        score, onset, count, _, raised = state.stuck or NOT_STUCK
        warn, loop = settings.stuck_warn, settings.stuck_loop
        yield Standing("R7", None, count, warn, loop, None, onset, r4(score), raised)
    if "R9" in rules:
        warn, loop = settings.waiting_warn_minutes, settings.waiting_loop_minutes
        looks, onset, newest = state.waiting or (0, None, False)
        measure = minutes_of(state.waiting, state.newest[1])
        yield Standing("R9", None, looks, warn, loop, tool, onset, measure, newest)
