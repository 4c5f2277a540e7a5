"""The verdict: is this session in a loop, since when, and by what evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from streams.core.detectors.detector import (
    Block,
    CloseReason,
    Detector,
    DetectorStanding,
    Eddy,
    Layer,
    Observation,
    RuleCount,
)
from streams.core.detectors.verdict.act import act_of, asks_a_person
from streams.core.detectors.verdict.advance import advanced, joined
from streams.core.detectors.verdict.answer import is_infrastructure
from streams.core.detectors.verdict.comparing import SeenStep, failure_in, has_progressed, step_of
from streams.core.detectors.verdict.episode import (
    Episode,
    Phase,
    followed,
    id_of,
    key_of,
    opened,
    remembering,
)
from streams.core.detectors.verdict.news import heard_mark, news_of, was_heard
from streams.core.detectors.verdict.past import Past
from streams.core.detectors.verdict.presentation import VerdictPresentation
from streams.core.detectors.verdict.rules import VerdictRules
from streams.core.detectors.verdict.settings import VerdictSettings, policy_of
from streams.core.detectors.verdict.standing import Standing, fired, standings
from streams.core.detectors.verdict.state import VerdictState
from streams.core.detectors.verdict.step import VerdictStep
from streams.core.detectors.verdict.streak import EACH
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.number import r4, within_doubles
from streams.core.domain.outcome import Finding
from streams.core.domain.tool_class import PolicyMode, ToolClass, ToolPolicy, tool_class


class Unseen(StrEnum):
    """Why a record is not judged, in the order the reasons are asked for."""

    disabled = "disabled"
    system = "system"
    status = "status"
    empty = "empty"
    exempt = "exempt"
    refused = "refused"
    infrastructure = "infrastructure"
    round = "round"


# Members of an enumeration cost a lookup each time.
_DISABLED, _SYSTEM, _STATUS, _EMPTY, _EXEMPT, _REFUSED, INFRASTRUCTURE, ROUND = Unseen
_EXEMPT_MODE = PolicyMode.exempt


def why_unseen(decision: Decision, policy: ToolPolicy | None, settings: VerdictSettings) -> Unseen | None:
    """Return why a record is not judged, the first reason that applies; None when it is.

    Args:
        decision: the record that may be judged.
        policy: what the operator says about its tool.
        settings: the settings in force.
    """
    if not settings.verdict_enabled:
        return _DISABLED
    if decision.kind == "system":
        return _SYSTEM
    status = decision.status
    if status not in settings.verdict_statuses:
        return _STATUS
    if not decision.tool_call and not decision.intent and not decision.result:
        return _EMPTY
    if policy is not None and policy.mode is _EXEMPT_MODE:
        return _EXEMPT
    if decision.known["meta"].get("user_turn") == "refusal":
        return _REFUSED
    if status == "failure" and is_infrastructure(status, decision.result_text):
        return INFRASTRUCTURE
    return None


# Fields of the formats before this one, and where in them stands what is kept: judged, tokens,
# infrastructure errors, the moments of the newest records, the keys, the open episode.
_FORMATS = (20, 21, 25, 26)
_MOMENTS, _KEYS, _EPISODE = 6, 18, 19


def upgraded(stored: Sequence[Any]) -> VerdictState:
    """Return a stored state in the form of this version.

    Rows and scores of earlier formats count by other definitions: they begin anew. Open episodes stay open.

    Raises:
        ValueError: no version stored so many fields.
    """
    if len(stored) == len(VerdictState._fields):
        return VerdictState(*stored)
    if len(stored) not in _FORMATS:
        raise ValueError(f"a state of the verdict has {len(stored)} fields")
    judged, tokens, infra_streak = stored[:3]
    moments = stored[_MOMENTS]
    # Once they were lists of their own, oldest first.
    newest = moments[-1] if moments and isinstance(moments[0], Sequence) else moments[:EACH]
    return VerdictState(
        judged=judged,
        steps=judged,
        tokens=tokens,
        infra_streak=infra_streak,
        moments=newest,
        newest_place=newest[:2],
        keys=stored[_KEYS],
        episode=stored[_EPISODE],
    )


def loop_episode(episode: Episode, phase: Phase, state: VerdictState, reason: str | None = None) -> Finding:
    """Return what is told of an episode at the newest judged record, which is its last so far.

    Args:
        episode: the episode as that record leaves it.
        phase: what became of it.
        state: the verdict's state after that record.
        reason: why it recovered, None in other phases.
    """
    fields = {
        "phase": phase.value,
        "level": episode.level,
        "episode_id": episode.id,
        "reopened": episode.reopened,
        "reason": reason,
        **figures(episode, state),
    }
    return Finding(EventKind.LOOP_EPISODE, fields)


def figures(episode: Episode, state: VerdictState) -> dict[str, Any]:
    """Return the evidence of an episode, and what it has cost up to the newest judged record.

    Every event of the episode has them, and every record while it is open: nobody has to add them up.
    """
    first_offset, first_timestamp, first_tokens, first_cost = episode.onset
    last_offset, last_timestamp, last_tokens, last_cost = state.newest
    tokens = within_doubles(last_tokens - first_tokens)
    unknown = first_cost is None or last_cost is None
    return {
        "rule": episode.rule,
        "period": episode.period,
        "count": episode.counted,
        "tools": [*episode.tools],
        "signatures": [*episode.signatures],
        "stuck": None if episode.stuck is None else {**episode.stuck, "kinds": {**episode.stuck["kinds"]}},
        "first_offset": first_offset,
        "first_timestamp": first_timestamp,
        "last_offset": last_offset,
        "last_timestamp": last_timestamp,
        "records": state.steps - episode.opened + 1,
        "tokens_since_onset": tokens if type(tokens) is int else r4(tokens),
        "cost_since_onset": None if unknown else r4(within_doubles(last_cost - first_cost)),
    }


_NORMAL, _WARNING, _LOOP = (level.value for level in Level)
_LEVELS = {level.value: level for level in Level}
#: What is remembered beside the window: words, what tools told, the trail, the counters.
_MOST_OTHER_BYTES = 4_000
_MOST_BYTES_OF_A_RECORD = 120
#: Words of `user_turn` after which what was built up still counts.
_NO_NEW_TASK = ("approval", "refusal")
_OPENED, _RECOVERED = Phase.OPENED, Phase.RECOVERED


@dataclass(frozen=True, slots=True)
class Verdict(Detector[VerdictState, VerdictSettings]):
    """Four rules over calls and their results, and the episodes they open, escalate and close.

    R1 the same call with the same result; R2 the same steps round and round; R7 the stuck score, which
    weighs what each step brings; R9 waiting for something from which nothing comes. Calls that were decided
    together are one step, a person's turn begins anew, pauses (`poll_gap_ms`), infrastructure errors and what
    `tool_policies` exempts are no loop. An episode opens when a rule fires, never falls in level, and ends
    after `recover_records` quiet records or with the session.

    Looks at every record; judges those that `visibility` does not leave out.

    Source: specification 6.

    >>> DEFAULTS = VerdictSettings()
    >>> known = {
    ...     "session_id": "s",
    ...     "event_id": "e",
    ...     "meta": {"trace_id": "t", "timestamp": 0},
    ...     "identity": {"agent_id": "a", "agent_type": "coder"},
    ...     "action": {"status": "failure", "tool_call": "make", "error": "no rule"},
    ... }
    >>> detector, state, levels = Verdict(), Verdict().fresh(), []
    >>> for offset in range(4):
    ...     state, block, findings = detector.observe(state, Decision.of(0, offset, known), {}, DEFAULTS)
    ...     levels.append(block["level"])
    >>> levels, [finding.fields["phase"] for finding in findings]
    (['NORMAL', 'NORMAL', 'WARNING', 'LOOP'], ['escalated'])
    """

    name: ClassVar[str] = "verdict"
    rules = VerdictRules()
    presentation = VerdictPresentation()
    layer: ClassVar[Layer] = Layer.JUDGES

    def fresh(self) -> VerdictState:
        """Return a state that has judged nothing."""
        return VerdictState()

    def restore(self, stored: Sequence[Any]) -> VerdictState:
        """Read back a state, also one that an earlier version wrote."""
        return upgraded(stored)

    def level(self, state: VerdictState) -> Level:
        """Return the level of the open episode, NORMAL when none is open."""
        return _LEVELS[_level(state)]

    def observe(
        self,
        state: VerdictState,
        decision: Decision,
        eddy: Eddy,
        settings: VerdictSettings,
    ) -> Observation[VerdictState]:
        """Judge a record, and follow the episode."""
        tokens = within_doubles(state.tokens + decision.tokens_used)
        policy = policy_of(decision.tool, settings)
        unseen = why_unseen(decision, policy, settings)
        if unseen is not None:
            infra_streak = state.infra_streak + (unseen is INFRASTRUCTURE)
            state = state._replace(tokens=tokens, infra_streak=infra_streak)
            return state, _block_unseen(state, unseen), ()
        if is_of_round(state, decision):
            state = _with_its_round(state, decision, policy, tokens, settings)
            return state, _block_unseen(state, ROUND), ()

        if state.past and begins_anew(decision):
            state = state.begun_again()
        past = Past.of(state.past, decision, settings.verdict_window - 1)
        seen = _seen(state, decision, settings)
        step = step_of(state, seen, past, policy, settings)
        repeat_distance = past.distance(decision.status) if past.repeated_at >= 0 else None
        state = advanced(state, seen, tokens, policy, past, step, settings)
        firing = fired(state, policy, settings)
        if firing or state.episode is not None:
            state, findings = _follow(state, _strongest(firing), decision, settings)
        else:
            findings = ()
        return state, _block(state, firing, repeat_distance, step), findings

    def close(self, state: VerdictState, reason: CloseReason) -> tuple[Finding, ...]:
        """Close the open episode with the last judged record."""
        if state.episode is None:
            return ()
        return (loop_episode(Episode(*state.episode), _RECOVERED, state, reason.value),)

    def most_bytes(self, settings: VerdictSettings) -> int:
        """Return the bound of its windows."""
        return settings.verdict_window * _MOST_BYTES_OF_A_RECORD + _MOST_OTHER_BYTES

    def standing(self, state: VerdictState, settings: VerdictSettings) -> DetectorStanding:
        """Return how near each rule is, and the open episode."""
        rules = tuple(
            RuleCount(each.rule, each.measure, each.warn, each.loop, each.level.value, each.tool, each.period)
            for each in standings(state, settings)
        )
        return DetectorStanding(rules=rules, episode=_open_episode(state))


def is_of_round(state: VerdictState, decision: Decision) -> bool:
    """Tell whether a step was decided together with the newest judged one, without its result.

    Where no round says so, it was if it ended before the other: nobody decides on what is still to come.
    """
    if not state.past:
        return False
    if decision.round_digest or state.round:
        return decision.round_digest == state.round
    return bool(decision.timestamp < state.newest[1])


def begins_anew(decision: Decision) -> bool:
    """Tell whether a person spoke before a step, or by it: repeating oneself after that is no repetition."""
    turn = decision.known["meta"].get("user_turn")
    if turn and turn not in _NO_NEW_TASK:
        return True
    return decision.status != "failure" and asks_a_person(decision.tool)


def _seen(state: VerdictState, decision: Decision, settings: VerdictSettings) -> SeenStep:
    news = news_of(decision, state.known_words)
    mark = heard_mark(decision, news) if decision.result else ""
    heard = bool(mark) and was_heard(state.heard, mark)
    pause = decision.timestamp - state.newest_place[1] if state.newest_place else 0
    writes = decision.kind == "tool" and tool_class(decision.tool or "", settings) is ToolClass.write
    act, failure = act_of(decision, settings), failure_in(decision, settings)
    return SeenStep(decision, act, news, mark, heard, failure, pause, has_progressed(state, decision), writes)


def _with_its_round(
    state: VerdictState,
    decision: Decision,
    policy: ToolPolicy | None,
    tokens: float,
    settings: VerdictSettings,
) -> VerdictState:
    past = Past.of(state.past, decision, settings.verdict_window - 1, state.of_round)
    seen = _seen(state, decision, settings)
    return joined(state, seen, tokens, past, step_of(state, seen, past, policy, settings))


def _level(state: VerdictState) -> str:
    return _NORMAL if state.episode is None else state.episode[1]


def _open_episode(state: VerdictState) -> Block | None:
    if state.episode is None:
        return None
    episode = Episode(*state.episode)
    first_offset, first_timestamp = episode.onset[:2]
    return {
        "episode_id": episode.id,
        "level": episode.level,
        "reopened": episode.reopened,
        "rule": episode.rule,
        "period": episode.period,
        "count": episode.counted,
        "tools": [*episode.tools],
        "quiet": episode.quiet,
        "first_offset": first_offset,
        "first_timestamp": first_timestamp,
    }


def _figures_now(state: VerdictState) -> Block | None:
    if state.episode is None:
        return None
    episode = Episode(*state.episode)
    return {"reopened": episode.reopened, **figures(episode, state)}


def _strongest(firing: Sequence[Standing]) -> Standing | None:
    """Return the first of the rules with the highest level."""
    looping = [standing for standing in firing if standing.measure >= standing.loop]
    return next(iter(looping or firing), None)


def _follow(
    state: VerdictState, strongest: Standing | None, decision: Decision, settings: VerdictSettings
) -> tuple[VerdictState, tuple[Finding, ...]]:
    """Open an episode or follow the one that is open; remember what the record fired with."""
    raw = _NORMAL if strongest is None else strongest.level.value
    if state.episode is not None:
        episode, phase = followed(Episode(*state.episode), state, strongest, raw, settings)
    elif strongest is not None:
        id_if_new = id_of(decision.session_id, decision.partition, decision.offset)
        episode, phase = opened(state, strongest, raw, id_if_new), _OPENED
    else:
        return state, ()
    findings: tuple[Finding, ...] = ()
    if phase is not None:
        reason = "quiet" if phase is _RECOVERED else None
        findings = (loop_episode(episode, phase, state, reason),)
    keys = state.keys
    if strongest is not None:
        keys = remembering(keys, key_of(strongest, state), state.judged, episode.id)
    kept = None if phase is _RECOVERED else [*episode]
    return state._replace(keys=keys, episode=kept), findings


def _block(
    state: VerdictState, firing: Sequence[Standing], repeat_distance: int | None, step: VerdictStep
) -> Block:
    strongest = _strongest(firing) if firing else None
    raw, rule, period, count = _NORMAL, None, None, None
    if strongest is not None:
        raw, rule, period, count = strongest.level.value, strongest.rule, strongest.period, strongest.count
    return {
        "visible": True,
        "why": None,
        "raw": raw,
        "level": _level(state),
        "rule": rule,
        "period": period,
        "count": count,
        "fired": [
            {"rule": each.rule, "level": each.level.value, "count": each.count, "period": each.period}
            for each in firing
        ]
        if firing
        else [],
        "run": state.run[0] if state.run else 1,
        "repeat_distance": repeat_distance,
        "signature": state.signature,
        "infra_streak": 0,
        "episode_id": None if state.episode is None else state.episode[0],
        "stuck": {
            "score": state.stuck[0] if state.stuck else 0.0,
            "kind": step.kind,
            "points": step.points,
            "refers_to": step.refers_to,
        },
        "episode": _figures_now(state),
    }


def _block_unseen(state: VerdictState, why: Unseen) -> Block:
    """What is reported of a record that is not judged: that, and how the session stands."""
    return {
        "visible": False,
        "why": why.value,
        "raw": None,
        "level": _level(state),
        "rule": None,
        "period": None,
        "count": None,
        "fired": None,
        "run": None,
        "repeat_distance": None,
        "signature": None,
        "infra_streak": state.infra_streak,
        "episode_id": None if state.episode is None else state.episode[0],
        "stuck": None,
        "episode": _figures_now(state),
    }


DETECTOR = Verdict()
