"""What is told of an episode: `loop_episode` (specification 7.1)."""

from __future__ import annotations

from streams.core.detectors.verdict.episode import Episode, Phase
from streams.core.detectors.verdict.state import VerdictState
from streams.core.domain.event import EventKind, Finding
from streams.core.domain.number import r4, within_doubles


def loop_episode(episode: Episode, phase: Phase, state: VerdictState, reason: str | None = None) -> Finding:
    """Return what is told of an episode at the newest judged record, which is its last so far.

    Args:
        episode: with that record.
        phase: what became of it.
        state: with that record.
        reason: why it recovered, None in other phases.
    """
    first_offset, first_timestamp, first_tokens, first_cost = episode.onset
    last_offset, last_timestamp, last_tokens, last_cost = state.newest
    tokens = within_doubles(last_tokens - first_tokens)
    unknown = first_cost is None or last_cost is None
    fields = {
        "phase": phase.value,
        "level": episode.level,
        "episode_id": episode.id,
        "reopened": episode.reopened,
        "reason": reason,
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
    return Finding(EventKind.LOOP_EPISODE, fields)
