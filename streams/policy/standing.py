"""Where a session stands, told from its state alone: its scores, its episode, and how near each rule is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streams.detectors.budget.detector import BudgetState, velocity_of
from streams.detectors.drift.detector import DriftState
from streams.detectors.loop.state import LoopState
from streams.detectors.patterns.detector import PATTERNS
from streams.detectors.patterns.state import PatternsState
from streams.detectors.patterns.trend import Trend
from streams.detectors.registry import DETECTORS
from streams.detectors.repeat.detector import RepeatState
from streams.detectors.settings import DetectionSettings
from streams.detectors.uniqueness.detector import UniquenessState
from streams.detectors.verdict.episode import Episode
from streams.detectors.verdict.standing import standings
from streams.detectors.verdict.state import VerdictState
from streams.domain.number import r4
from streams.domain.session import Session

Fields = dict[str, Any]


def standing(session: Session, settings: DetectionSettings) -> Fields:
    """Return how a session stands after its last record, JSON-able.

    Keys: ``partition``, ``offset``, ``event_id``, ``agent_id``, ``timestamp`` (ms) and ``step`` of the last
    record; ``node``; ``ended``; ``settings_version``; ``level`` and ``episode`` of the verdict; ``scores``
    by detector; ``rules``, those that count something: {rule, count, warn, loop, level, tool, period}. A rule
    fires when ``count`` reaches a limit; ``loop`` is null where there is one limit only.

    Of a session that ended only the position is left.

    >>> from streams.detectors.settings import DEFAULTS
    >>> standing(Session(partition=0, offset=7), DEFAULTS)["ended"]
    True
    """
    found: Fields = {
        "partition": session.partition,
        "offset": session.offset,
        "ended": session.ended,
        "settings_version": settings.version,
    }
    if session.ended:
        return found
    states = {
        detector.name: detector.restore(session.states[detector.name])
        for detector in DETECTORS
        if detector.name in session.states
    }
    rules = [*_verdict_rules(states, settings), *_score_rules(states, settings)]
    episode = _episode(states)
    return {
        **found,
        "event_id": session.event_id,
        "agent_id": session.agent_id,
        "timestamp": session.timestamp,
        "step": session.step,
        "node": str(session.node),
        "level": "NORMAL" if episode is None else episode["level"],
        "episode": episode,
        "scores": dict(_scores(states)),
        "rules": rules,
    }


def _episode(states: Mapping[str, Any]) -> Fields | None:
    match states.get("verdict"):
        case VerdictState(episode=[*stored]):
            episode = Episode(*stored)
            first_offset, first_timestamp = episode.onset[:2]
            return {
                "episode_id": episode.id,
                "level": episode.level,
                "reopened": episode.reopened,
                "rule": episode.rule,
                "period": episode.period,
                "count": episode.counted,
                "tools": list(episode.tools),
                "quiet": episode.quiet,
                "first_offset": first_offset,
                "first_timestamp": first_timestamp,
            }
        case _:
            return None


def _verdict_rules(states: Mapping[str, Any], settings: DetectionSettings) -> Iterator[Fields]:
    state = states.get("verdict")
    if state is None:
        return
    for each in standings(state, settings):
        yield {
            "rule": each.rule,
            "count": each.count,
            "warn": each.warn,
            "loop": each.loop,
            "level": str(each.level),
            "tool": each.tool,
            "period": each.period,
        }


def _score_rules(states: Mapping[str, Any], settings: DetectionSettings) -> Iterator[Fields]:
    repeat, patterns, loop = states.get("repeat"), states.get("patterns"), states.get("loop")
    if isinstance(repeat, RepeatState) and repeat.ring:
        kind, tool = repeat.signatures[repeat.ring[-1]] or ("", "")
        thresholds = settings.repeat_thresholds
        limit = thresholds.get(kind, thresholds["default"])
        yield _score_rule(f"A2:{kind}", repeat.run_length, limit, tool or None)
    if isinstance(patterns, PatternsState):
        yield _score_rule("A3:test_fail_loop", patterns.failures, settings.pattern_theta)
    if isinstance(loop, LoopState):
        yield _score_rule("A4:exact_hash", loop.equal, settings.exact_hash_threshold)
        if settings.enable_all_strategies:
            yield _score_rule("A4:oscillation", loop.alternating // 2, settings.oscillation_threshold)
            yield _score_rule("A4:dead_end", loop.stuck, settings.dead_end_threshold)


def _score_rule(rule: str, count: int, limit: int, tool: str | None = None) -> Fields:
    level = "WARNING" if count >= limit else "NORMAL"
    return {
        "rule": rule,
        "count": count,
        "warn": limit,
        "loop": None,
        "level": level,
        "tool": tool,
        "period": None,
    }


def _scores(states: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
    for name, state in states.items():
        match state:
            case UniquenessState():
                size = len(state.order)
                different = len(state.tuples) - state.tuples.count(None)
                score = r4(different / size) if size else None
                yield name, {"score": score, "severity": state.severity, "window_size": size}
            case RepeatState():
                yield name, {"run_length": state.run_length, "divergence_emitted_count": len(state.emitted)}
            case PatternsState():
                trends = [Trend(*each) for each in state.trends] or [Trend()] * len(PATTERNS)
                named = list(zip(PATTERNS, trends, strict=True))
                ema = {pattern: r4(trend.ema) for pattern, trend in named}
                escalated = [pattern for pattern, trend in named if trend.escalated]
                yield name, {"ema": ema, "escalated": escalated}
            case DriftState():
                overall = state.overalls[-1] if state.overalls else None
                yield name, {"overall": overall, "level": state.level, "context_quality": state.latest}
            case BudgetState():
                yield name, _budget(state)


def _budget(state: BudgetState) -> Fields:
    return {
        "steps_used": state.steps_used,
        "steps_budget": state.steps_budget,
        "tokens_used": state.tokens_used,
        "tokens_budget": state.tokens_budget,
        "velocity": velocity_of(state.deltas) if state.deltas else None,
        "total_progress": r4(state.total),
        "exhausted": state.exhausted,
    }
