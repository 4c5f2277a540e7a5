"""Alerts to try a sink with: one that begins a loop, and one that ends it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streams.alerts.episodes import Episodes
from streams.alerts.sinks.sink import Alert, Delivery
from streams.core.detectors.verdict.episode import Phase, id_of
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level

SESSION: Final = "eddy-notify-test"
_LASTED_MS: Final = 74_000


def trial(now_ms: int) -> Iterator[Delivery]:
    """Yield a trigger and its resolve, of an episode that no other trial has.

    Args:
        now_ms: The time, ms since 1970.
    """
    episodes = Episodes()
    for offset, phase in enumerate((Phase.OPENED, Phase.RECOVERED)):
        delivery = episodes.take(Alert.of(_fields(phase, offset, now_ms), 0, offset), now_ms)
        assert delivery is not None, "their ids differ"
        yield delivery


def _fields(phase: Phase, offset: int, now_ms: int) -> dict[str, Any]:
    kind = EventKind.LOOP_EPISODE
    return {
        "id": f"{SESSION}-{now_ms}/0/{offset}/{kind}/{phase}",
        "event_type": kind.value,
        "session_id": SESSION,
        "agent_id": "eddy-test",
        "event_id": f"test-{offset}",
        "timestamp": now_ms,
        "partition": 0,
        "offset": offset,
        "phase": phase.value,
        "level": Level.LOOP.value,
        "episode_id": id_of(f"{SESSION}-{now_ms}", 0, 0),
        "reopened": False,
        "reason": "quiet" if phase is Phase.RECOVERED else None,
        "rule": "R1",
        "period": 1,
        "count": 6,
        "tools": ["Read"],
        "signatures": [],
        "first_offset": 0,
        "first_timestamp": now_ms - _LASTED_MS,
        "last_offset": offset,
        "last_timestamp": now_ms,
        "records": 6,
        "tokens_since_onset": 18_400,
        "cost_since_onset": 0.42,
    }
