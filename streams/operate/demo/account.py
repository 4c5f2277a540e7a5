"""The demo's book-keeping: every record sent must come back once, scored or dead-lettered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.event_kind import EventKind
from streams.core.domain.topic import Topic
from streams.core.policy.routing import topic_of

#: The topics with reports of the job that the demo follows.
ALERTS = frozenset({Topic.ENTROPY_ALERTS, Topic.SESSION_ALERTS})
ADVICE = frozenset({Topic.SESSION_RESPONSES, Topic.SESSION_BUDGETS})


@dataclass(slots=True)
class DemoAccount:
    """What was sent and what came back, by identity, so that a record seen twice counts once."""

    sent: set[tuple[int, int]] = field(default_factory=set)
    """Partition and offset of every record."""
    scored: set[str] = field(default_factory=set)
    """Ids of enriched records."""
    dead: dict[tuple[int, int], str] = field(default_factory=dict)
    """Reason by partition and offset of the source."""
    sessions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The newest `eddy` block by session."""
    alerts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Published alerts by id."""
    advice: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Published responses and budgets by id."""
    announced: set[str] = field(default_factory=set)
    """Ids of the alerts, responses and budgets that the enriched records speak of."""

    def enriched(self, record: dict[str, Any]) -> bool:
        """Take in an enriched record; False when it was seen before."""
        block = record["eddy"]
        if block["id"] in self.scored:
            return False
        self.scored.add(block["id"])
        self.sessions[record["session_id"]] = block
        self.announced.update(event["id"] for event in block["events"] if _is_followed(event))
        return True

    def dead_letter(self, partition: int, offset: int, reason: str) -> None:
        """Take in a dead letter by the coordinates of its source."""
        self.dead[partition, offset] = reason

    def alert(self, fields: dict[str, Any]) -> bool:
        """Take in an alert; False when it was seen before."""
        if fields["id"] in self.alerts:
            return False
        self.alerts[fields["id"]] = fields
        return True

    def advised(self, fields: dict[str, Any]) -> None:
        """Take in a response or a budget."""
        self.advice[fields["id"]] = fields

    @property
    def lost(self) -> int:
        """How many records sent, and events announced, have not come back."""
        records = len(self.sent) - len(self.scored) - len(self.dead)
        return records + len(self.announced - self.alerts.keys() - self.advice.keys())


def _is_followed(event: dict[str, Any]) -> bool:
    """Whether an event is published where the demo looks; its workers have the default settings."""
    return topic_of(EventKind(event["event_type"]), event, DEFAULTS) in ALERTS | ADVICE
