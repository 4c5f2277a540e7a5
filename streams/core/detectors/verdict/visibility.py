"""Which records the verdict looks at (specification 6.1)."""

from __future__ import annotations

from enum import StrEnum

from streams.core.detectors.verdict.settings import VerdictSettings
from streams.core.domain.decision import Decision
from streams.core.domain.infrastructure import is_infrastructure
from streams.core.domain.tool_policy import PolicyMode, ToolPolicy


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
        decision: the record.
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
