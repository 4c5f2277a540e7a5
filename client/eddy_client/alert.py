"""An alert as Eddy publishes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Alert:
    """What Eddy says of a session.

    Attributes:
        alert_id: the same wherever the alert is published again.
        kind: `loop_episode`, `divergence_suspected` or `drift_pattern`.
        session_id: the session.
        agent_id: its agent.
        timestamp: of the record that led to it, ms since 1970.
        phase: of an episode: `opened`, `escalated`, `still_open` or `recovered`.
        level: of an episode: `WARNING` or `LOOP`.
        rule: which rule fired, such as `R1`.
        episode_id: the same in all alerts of an episode.
        fields: everything that was published.
    """

    alert_id: str
    kind: str
    session_id: str
    agent_id: str
    timestamp: int
    phase: str | None = None
    level: str | None = None
    rule: str | None = None
    episode_id: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Alert:
        """Return the alert with these fields.

        Raises:
            KeyError: they are not those of an alert.
        """
        return cls(
            alert_id=fields["id"],
            kind=fields["event_type"],
            session_id=fields["session_id"],
            agent_id=fields["agent_id"],
            timestamp=fields["timestamp"],
            phase=fields.get("phase"),
            level=fields.get("level"),
            rule=fields.get("rule"),
            episode_id=fields.get("episode_id"),
            fields=fields,
        )
