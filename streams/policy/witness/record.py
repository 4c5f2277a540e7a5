"""The records of a witness: complete DecisionLogs that say no more than the rule asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.detectors.settings import DetectionSettings
from streams.policy.witness.witness import DecisionLog

SESSION_ID = "witness"

_START_MS = 1_700_000_000_000
_PACE_MS = 1_000
# Cycles are compared over this many records at most.
_LONGEST_PERIOD = 5


def record(
    number: int,
    settings: DetectionSettings,
    action: Mapping[str, str],
    *,
    intent: str | None = None,
    goal: str | None = None,
    state: Mapping[str, Any] | None = None,
) -> DecisionLog:
    """Return the record of this number, from 1, with this `action`. Without an intent it has no cognition.

    >>> from streams.detectors.settings import DEFAULTS
    >>> record(2, DEFAULTS, {"status": "success"})["event_id"]
    'witness-2'
    """
    value: DecisionLog = {
        "session_id": SESSION_ID,
        "event_id": f"{SESSION_ID}-{number}",
        "meta": {"trace_id": SESSION_ID, "timestamp": _START_MS + number * _pace(settings)},
        "identity": {"agent_id": SESSION_ID, "agent_type": SESSION_ID},
        "action": dict(action),
    }
    if intent is not None:
        value["cognition"] = {"intent": intent} if goal is None else {"intent": intent, "goal": goal}
    if state is not None:
        value["state_delta"] = dict(state)
    return value


def _pace(settings: DetectionSettings) -> int:
    """Return the ms from record to record: too few to count as polling, and for the session to expire."""
    limits = [_PACE_MS]
    if settings.poll_gap_ms:
        limits.append((settings.poll_gap_ms - 1) // _LONGEST_PERIOD)
    if settings.session_ttl_ms:
        limits.append(settings.session_ttl_ms)
    return min(limits)
