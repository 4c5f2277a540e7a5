"""Where a session stands, by its state alone: its scores, its episode, and how near each rule is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.session import Session

Fields = dict[str, Any]


def standing(session: Session, settings: DetectionSettings) -> Fields:
    """Return how a session stands after its last record, JSON-able.

    Keys: ``partition``, ``offset``, ``event_id``, ``agent_id``, ``timestamp`` (ms) and ``step`` of the last
    record; ``node``; ``ended``; ``settings_version``; ``level`` and ``episode`` of the verdict; ``scores``
    by detector; ``rules``, those that count something: {rule, count, warn, loop, level, tool, period}. A rule
    fires when ``count`` reaches a limit; ``loop`` is null for a rule with one limit. If the session has
    ended, only the position is left.

    >>> from streams.core.detectors.settings import DEFAULTS
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
    standings = {
        detector.name: detector.standing(detector.restore(session.states[detector.name]), settings)
        for detector in DETECTORS
        if detector.name in session.states
    }
    parts = standings.values()
    episode = next((part.episode for part in parts if part.episode is not None), None)
    return {
        **found,
        "event_id": session.event_id,
        "agent_id": session.agent_id,
        "timestamp": session.timestamp,
        "step": session.step,
        "node": str(session.node),
        "level": "NORMAL" if episode is None else episode["level"],
        "episode": episode,
        "scores": {name: part.scores for name, part in standings.items() if part.scores},
        "rules": [asdict(rule) for part in parts for rule in part.rules],
    }
