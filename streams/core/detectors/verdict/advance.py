"""One more judged record: every counter of the verdict goes on."""

from __future__ import annotations

from typing import Any

from streams.core.detectors.verdict import cycle, identical
from streams.core.detectors.verdict.act import Act
from streams.core.detectors.verdict.answer import Failure
from streams.core.detectors.verdict.comparing import SeenStep, asks_in_vain
from streams.core.detectors.verdict.episode import within
from streams.core.detectors.verdict.news import hearing, remembered
from streams.core.detectors.verdict.past import Past
from streams.core.detectors.verdict.settings import VerdictSettings
from streams.core.detectors.verdict.state import RECENT, SIGNATURE, VerdictState, outcome_of
from streams.core.detectors.verdict.step import StepKind, VerdictStep
from streams.core.detectors.verdict.streak import NO_STREAK, with_one_more
from streams.core.detectors.verdict.stuck import stuck_after
from streams.core.detectors.verdict.waiting import waiting_after
from streams.core.domain.text.digest import bounded, bounded_hash
from streams.core.domain.tool_class import ToolPolicy

_SIGNATURES = SIGNATURE * RECENT
_TRAIL = cycle.TRAIL_MARK * cycle.LONGEST
_WAITING = StepKind.WAITING.value
_ACTED_BEFORE = frozenset((StepKind.ACKNOWLEDGED_AGAIN.value, StepKind.ACKNOWLEDGED_BACK.value))
_IN_VAIN = frozenset((StepKind.SILENT.value, StepKind.ECHO.value, StepKind.NOTHING_FOUND.value))
_BROUGHT = frozenset((StepKind.NEW.value, StepKind.FEW.value))


def advanced(
    state: VerdictState,
    seen: SeenStep,
    tokens: float,
    policy: ToolPolicy | None,
    past: Past,
    step: VerdictStep,
    settings: VerdictSettings,
) -> VerdictState:
    """Return the state with a record counted in that is the first of its round, the episode as it was.

    Args:
        state: the verdict's state before the record.
        seen: the record as the verdict sees it.
        tokens: of the session so far, the record included.
        policy: what the operator says about its tool.
        past: the records it was compared with.
        step: what it is beside them.
        settings: the settings in force.
    """
    decision = seen.decision
    moment = (decision.offset, decision.timestamp, tokens, decision.cumulative_cost)
    waits = step.kind == _WAITING
    outcome = outcome_of(decision.status, polling=waits)
    tools = [*state.tools, bounded(decision.tool_call) if decision.tool_call else None][-RECENT:]
    number, signature = state.judged + 1, decision.signature
    moved = seen.moved
    # Most records do and tell what none of the newest did, and are asked no more.
    is_known = not moved and signature in state.signatures
    # What waits is counted by time, unless the operator gave it limits of its own.
    may_run = is_known and not state.broken and (not waits or policy is not None)
    return state._replace(
        **_remembered(state, seen, past, step),
        judged=number,
        tokens=tokens,
        infra_streak=0,
        signatures=(state.signatures + signature)[-_SIGNATURES:],
        tools=tools,
        outcomes=(state.outcomes + outcome)[-RECENT:],
        moments=with_one_more(state.moments, moment, RECENT),
        steps=state.steps + 1,
        broken=False,
        run=identical.run_of(state, decision, seen.pause, settings) if may_run else NO_STREAK,
        cycles=cycle.cycles_of(state, decision, outcome, seen.pause, settings)
        if is_known and not waits
        else (),
        trail=state.trail if waits else (state.trail + signature[: cycle.TRAIL_MARK])[-_TRAIL:],
        circle=() if moved or waits else cycle.circle_of(state, decision, moment, seen.pause, settings),
        waiting=waiting_after(
            state.waiting, step, decision, seen.news, state.newest if state.past else moment, moment
        )
        if state.waiting or waits
        else NO_STREAK,
        acknowledged=seen.may_come_again,
        round=decision.round_digest,
        of_round=1,
        before_round=state.stuck,
        least=step.points,
        keys=within(state.keys, number, settings.verdict_window) if state.keys else state.keys,
        stuck=stuck_after(state.stuck, step, moment) if state.stuck or step.points > 0.0 else (),
    )


def joined(state: VerdictState, seen: SeenStep, tokens: float, past: Past, step: VerdictStep) -> VerdictState:
    """Return the state with a further record of the newest round counted in.

    The round counts as the step of it that brought most. So the score can only fall by such a record.

    Args: as those of `advanced`.
    """
    lower = step.points < state.least
    moment = state.newest
    if step.points < 0.0:
        # What brings something is no repetition, whatever else the agent asked for at once.
        state = state._replace(run=NO_STREAK, cycles=(), circle=(), broken=True)
    return state._replace(
        **_remembered(state, seen, past, step),
        judged=state.judged + 1,
        tokens=tokens,
        infra_streak=0,
        of_round=state.of_round + 1,
        least=min(step.points, state.least),
        stuck=stuck_after(state.before_round, step, moment) if lower else state.stuck,
    )


def _remembered(state: VerdictState, seen: SeenStep, past: Past, step: VerdictStep) -> dict[str, Any]:
    """Return the fields of the state that later records are compared with."""
    decision, news, number = seen.decision, seen.news, state.judged + 1
    acts, kind = seen.act is Act.ACTS, step.kind
    brought = kind in _BROUGHT
    if acts or brought or kind == StepKind.RERUN.value:
        in_vain = 0
    else:
        in_vain = state.in_vain + (kind in _IN_VAIN and asks_in_vain(seen))
    idle = 0 if brought else state.idle + (seen.act is Act.IDLES)
    failures = state.failures
    if seen.failure is not None and seen.failure not in (Failure.OTHER, Failure.CANCELLED):
        failures = {**failures, seen.failure.value: number}
    content_hash = decision.content_hash
    newest = (state.newest_place[0], state.newest_place[1]) if state.newest_place else None
    acted = acts and decision.status == "success" and kind not in _ACTED_BEFORE
    return {
        "newest_place": (decision.offset, decision.timestamp),
        "past": past.with_the_record(decision, newest),
        "known_words": remembered(state.known_words, news),
        "heard": hearing(state.heard, seen.mark) if seen.mark and not seen.heard else state.heard,
        "content_hash": None if content_hash is None else bounded_hash(content_hash),
        "failures": failures,
        "last_act": number if acted else state.last_act,
        "last_wait": number if kind == _WAITING else state.last_wait,
        "idle": idle,
        "in_vain": in_vain,
    }
