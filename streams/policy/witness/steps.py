"""Witnesses of A4: steps that repeat, resemble one another, alternate or lead nowhere (specification 5.4)."""

from __future__ import annotations

from streams.detectors.settings import DetectionSettings
from streams.policy.witness.record import record
from streams.policy.witness.scores import NOTHING_SCORED, scored_status
from streams.policy.witness.witness import DecisionLog, Obstacle, Witness

# The same words in another order: alike at any threshold, and not the same call.
_REWORDED = ('{"q":"price list"}', '{"q":"list price"}')
_TURNS = ("open", "close")


def step(detector: str, records: int, settings: DetectionSettings) -> Witness | Obstacle:
    """Return the witness of one of the four detectors of A4."""
    status = scored_status(settings)
    if status is None:
        return NOTHING_SCORED

    def make(number: int) -> DecisionLog:
        tool, asked, state = "search", _REWORDED[0], None
        match detector:
            case "semantic":
                asked = _REWORDED[(number - 1) % 2]
            case "oscillation":
                tool = _TURNS[(number - 1) % 2]
            case "dead_end":
                asked, state = f'{{"q":"idea {number}"}}', {"progress_delta": 0.0}
        action = {"status": status, "tool_call": tool, "tool_input": asked}
        return record(number, settings, action, state=state)

    return Witness(records, make)
