"""The records of a witness: complete DecisionLogs that say no more than the rule asks for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.tool_class import ToolClass
from streams.core.domain.tool_policy import PolicyMode
from streams.core.domain.witness import ANY_CLASS, DecisionLog
from streams.core.policy.witness.tool_name import tool_name

SESSION_ID = "witness"

_START_MS = 1_700_000_000_000
_PACE_MS = 1_000


@dataclass(frozen=True, slots=True)
class WitnessRecordMaker:
    """Makes records under these settings (`streams.core.domain.witness.RecordMaker`)."""

    settings: DetectionSettings

    def record(
        self,
        number: int,
        action: Mapping[str, str],
        *,
        intent: str | None = None,
        goal: str | None = None,
        state: Mapping[str, Any] | None = None,
        at_ms: int | None = None,
    ) -> DecisionLog:
        """Return the record of this number, from 1, with this `action`; without an intent, no cognition.

        It comes ``at_ms`` after the start; if that is not given, so that nothing counts as a pause.

        >>> from streams.core.detectors.settings import DEFAULTS
        >>> WitnessRecordMaker(DEFAULTS).record(2, {"status": "success"})["event_id"]
        'witness-2'
        """
        after = number * _pace(self.settings) if at_ms is None else at_ms
        value: DecisionLog = {
            "session_id": SESSION_ID,
            "event_id": f"{SESSION_ID}-{number}",
            "meta": {"trace_id": SESSION_ID, "timestamp": _START_MS + after},
            "identity": {"agent_id": SESSION_ID, "agent_type": SESSION_ID},
            "action": dict(action),
        }
        if intent is not None:
            value["cognition"] = {"intent": intent} if goal is None else {"intent": intent, "goal": goal}
        if state is not None:
            value["state_delta"] = dict(state)
        return value

    def tool_name(
        self,
        classes: Collection[ToolClass] = ANY_CLASS,
        policies: Collection[PolicyMode | None] | None = None,
    ) -> str | None:
        """Return a name under these settings (`streams.core.policy.witness.tool_name`)."""
        return tool_name(self.settings, classes, policies)


def _pace(settings: DetectionSettings) -> int:
    """Return the ms from record to record: too few to count as polling, and for the session to expire."""
    limits = [_PACE_MS]
    if settings.poll_gap_ms:
        limits.append(settings.poll_gap_ms - 1)
    if settings.failure_gap_ms:
        limits.append(settings.failure_gap_ms - 1)
    if settings.session_ttl_ms:
        limits.append(settings.session_ttl_ms)
    return min(limits)
