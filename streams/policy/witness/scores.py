"""Witnesses of A1 and A2: deciding the same thing, calling the same tool (specification 5.1, 5.2)."""

from __future__ import annotations

from itertools import count

from streams.detectors.settings import DetectionSettings
from streams.domain.level import Level
from streams.domain.number import r4
from streams.policy.witness.record import record
from streams.policy.witness.witness import DecisionLog, Obstacle, Witness

STATUSES = ("success", "failure", "skipped", "pending")
NOTHING_SCORED = Obstacle("score_statuses is empty: no record is scored")


def scored_status(settings: DetectionSettings) -> str | None:
    """Return a status whose records are scored, None when there is none."""
    return next((status for status in STATUSES if status in settings.score_statuses), None)


def uniqueness(level: str, shortest: int, settings: DetectionSettings) -> Witness | Obstacle:
    """Decide as many different things as the level takes, the last of them again and again."""
    status = scored_status(settings)
    if status is None:
        return NOTHING_SCORED
    loop, warning = settings.entropy_loop_threshold, settings.entropy_warning_threshold
    different = 1
    if level == Level.WARNING:
        different = next(u for u in range(1, shortest + 1) if loop <= r4(u / shortest) < warning)

    def make(number: int) -> DecisionLog:
        idea = f"try idea {min(number, different)}"
        return record(number, settings, {"status": status, "tool_call": "search"}, intent=idea)

    return Witness(shortest, make)


def repeat(kind: str, shortest: int, settings: DetectionSettings) -> Witness | Obstacle:
    """Do a step of the kind again and again; ``default`` stands for a kind without a threshold of its own."""
    status = scored_status(settings)
    if status is None:
        return NOTHING_SCORED
    if not kind:
        return Obstacle("a record whose kind is empty counts as tool or llm")
    if kind == "default":
        kind = next(name for n in count(1) if (name := f"kind_{n}") not in settings.repeat_thresholds)
    action = {"status": status, "kind": kind}
    if kind == "tool":
        action["tool_call"] = "search"
    return Witness(shortest, lambda number: record(number, settings, action))
