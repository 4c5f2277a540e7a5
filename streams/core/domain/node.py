"""The node of a session in the topology map: its states and their colours (specification 7.3)."""

from __future__ import annotations

from enum import StrEnum


class NodeState(StrEnum):
    """What the map shows for a session. A new session is `ACTIVE`; an ended one is `IDLE`."""

    IDLE = "idle"
    ACTIVE = "active"
    BLOCKED = "blocked"
    ALERT_ENTROPY = "alert_entropy"


COLORS = {
    NodeState.IDLE: "#6b7280",
    NodeState.ACTIVE: "#3b82f6",
    NodeState.BLOCKED: "#f59e0b",
    NodeState.ALERT_ENTROPY: "#ef4444",
}
