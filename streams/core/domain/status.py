"""The statuses of a record, and whether its uniqueness ratio was taken (specification 2.8, 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from streams.core.domain.decision import Decision
from streams.core.domain.settings.general import GeneralSettings


class ScoringStatus(StrEnum):
    """The values of `eddy.scoring_status`."""

    OK = "ok"
    STATUS = "skipped:status"
    NO_COGNITION = "skipped:no_cognition"
    MISSING_AGENT = "failed:missing_agent_id"


def scoring_status(decision: Decision, settings: GeneralSettings) -> ScoringStatus:
    """Tell how a record is scored. A status that is not scored outweighs the other reasons."""
    if decision.status not in settings.score_statuses:
        return ScoringStatus.STATUS
    if decision.intent is None:
        return ScoringStatus.NO_COGNITION
    return ScoringStatus.OK if decision.has_agent else ScoringStatus.MISSING_AGENT


LETTERS: Mapping[str, str] = MappingProxyType(
    {"success": "s", "failure": "f", "skipped": "k", "pending": "p"}
)
STATUSES: Mapping[str, str] = MappingProxyType({letter: status for status, letter in LETTERS.items()})
