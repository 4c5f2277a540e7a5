"""The verdict: is this session in a loop, since when, and by what evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from streams.detectors.detector import Block, CloseReason, Detector, Eddy, Layer, Observation
from streams.detectors.standing import DetectorStanding, RuleCount
from streams.detectors.verdict.advance import advanced
from streams.detectors.verdict.comparing import step_of
from streams.detectors.verdict.episode import Episode, Phase, followed, id_of, opened
from streams.detectors.verdict.past import Past
from streams.detectors.verdict.policy import policy_of
from streams.detectors.verdict.presentation import VerdictPresentation
from streams.detectors.verdict.rearm import key_of, remembering
from streams.detectors.verdict.report import loop_episode
from streams.detectors.verdict.rules import VerdictRules
from streams.detectors.verdict.settings import VerdictSettings
from streams.detectors.verdict.standing import Standing, fired, standings
from streams.detectors.verdict.state import VerdictState
from streams.detectors.verdict.step import Step
from streams.detectors.verdict.upgrade import upgraded
from streams.detectors.verdict.visibility import INFRASTRUCTURE, ROUND, Unseen, why_unseen
from streams.domain.decision import Decision
from streams.domain.event import Finding
from streams.domain.level import Level
from streams.domain.number import within_doubles
from streams.domain.text.bounded import MOST_JSON_BYTES

_NORMAL, _WARNING, _LOOP = (level.value for level in Level)
_LEVELS = {level.value: level for level in Level}
#: The marks of the words of 4,000 characters.
_MOST_MARKS_BYTES = 10_000
_OPENED, _RECOVERED = Phase.OPENED, Phase.RECOVERED


@dataclass(frozen=True, slots=True)
class Verdict(Detector[VerdictState, VerdictSettings]):
    """Five rules over calls and their results, and the episodes they open, escalate and close.

    R1 the same call with the same result; R2 a cycle of 2 to 5 steps; R3 one tool failing with one error,
    R4 one tool giving one result, whatever the arguments; R5 near-duplicates without progress. Waiting
    (`poll_gap_ms`), infrastructure errors and what `tool_policies` exempts are no loop. An episode opens when
    a rule fires, never falls in level, and ends after `recover_records` quiet records or with the session.
    Two more are off by default: R6 calls in a row that were all made before, with the same results, and R8
    many steps that told the agent nothing new.

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
    >>> for offset in range(3):
    ...     state, block, findings = detector.observe(state, Decision.of(0, offset, known), {}, DEFAULTS)
    ...     levels.append(block["level"])
    >>> levels, [finding.fields["phase"] for finding in findings]
    (['NORMAL', 'WARNING', 'LOOP'], ['escalated'])
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
        return VerdictState(*upgraded(stored))

    def level(self, state: VerdictState) -> Level:
        """Return the level of the open episode, NORMAL when none is open."""
        return _LEVELS[_level(state)]

    def observe(
        self,
        state: VerdictState,
        decision: Decision,
        eddy: Eddy,  # noqa: ARG002 - the record alone decides
        settings: VerdictSettings,
    ) -> Observation[VerdictState]:
        """Judge a record, and follow the episode."""
        tokens = within_doubles(state.tokens + decision.tokens_used)
        policy = policy_of(decision.tool, settings)
        unseen = why_unseen(decision, policy, settings)
        round_ = decision.round_digest
        if unseen is None and round_ and round_ == state.round:
            unseen = ROUND  # decided before any result of its round was known: one step with the first
        if unseen is not None:
            infra_streak = state.infra_streak + (unseen is INFRASTRUCTURE)
            state = state._replace(tokens=tokens, infra_streak=infra_streak)
            return state, _block_unseen(state, unseen), ()

        past = Past.of(state.past, decision, settings.verdict_window - 1)
        step = step_of(state, decision, past, policy, settings)
        repeat_distance = past.distance(decision.status) if past.repeated_at >= 0 else None
        state = advanced(state, decision, tokens, policy, past, step, repeat_distance, settings)
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
        of_a_failure = _MOST_MARKS_BYTES if settings.same_error_similarity else 0
        return settings.verdict_window * (MOST_JSON_BYTES + 300 + of_a_failure)

    def standing(self, state: VerdictState, settings: VerdictSettings) -> DetectorStanding:
        """Return how near each rule is, and the open episode."""
        rules = tuple(
            RuleCount(each.rule, each.measure, each.warn, each.loop, each.level.value, each.tool, each.period)
            for each in standings(state, settings)
        )
        return DetectorStanding(rules=rules, episode=_open_episode(state))


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


def _block(state: VerdictState, firing: Sequence[Standing], repeat_distance: int | None, step: Step) -> Block:
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
    }


DETECTOR = Verdict()
