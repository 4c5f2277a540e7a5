"""An alert as it stands on `session-alerts`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from streams.control.command import number, optional_text, text
from streams.core.domain.level import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One record of the topic.

    Attributes:
        id: The same whenever the record is written again.
        kind: `event_type`, such as loop_episode.
        timestamp: When it happened, ms since 1970.
        level: WARNING or LOOP; of events that have no level WARNING.
        phase: What became of the episode; None where there is none.
        episode_id: None for what is no episode.
        fields: All fields of the record.
        partition, offset: Where it stands on the topic.
    """

    id: str
    kind: str
    session_id: str
    agent_id: str
    event_id: str
    timestamp: int
    level: Level
    phase: str | None
    episode_id: str | None
    fields: Mapping[str, Any]
    partition: int
    offset: int

    @property
    def key(self) -> str:
        """What all deliveries about the same thing share: the episode; else the alert itself."""
        return self.id if self.episode_id is None else self.episode_id

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools of the pattern, each once, in their order."""
        return tuple(dict.fromkeys(str(tool) for tool in self.fields.get("tools") or () if tool))

    @property
    def rule(self) -> str:
        """The rule of the evidence; of events without one the pattern or the kind."""
        return str(self.fields.get("rule") or self.fields.get("pattern") or self.kind)

    @classmethod
    def of(cls, fields: Mapping[str, Any], partition: int, offset: int) -> Self:
        """Read a decoded record.

        Raises:
            MalformedError: a field is missing or of another type; the message names it, not its value.
        """
        level = optional_text(fields, "level") or Level.WARNING
        return cls(
            id=text(fields, "id"),
            kind=text(fields, "event_type"),
            session_id=text(fields, "session_id"),
            agent_id=optional_text(fields, "agent_id") or "",
            event_id=optional_text(fields, "event_id") or "",
            timestamp=number(fields, "timestamp"),
            level=Level(level) if level in Level.__members__ else Level.WARNING,
            phase=optional_text(fields, "phase"),
            episode_id=optional_text(fields, "episode_id"),
            fields=fields,
            partition=partition,
            offset=offset,
        )
