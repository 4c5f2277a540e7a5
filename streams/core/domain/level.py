"""How bad it is: NORMAL < WARNING < LOOP (specification 1.5), and the node of a session in the map (7.3)."""

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


class Level(StrEnum):
    """A level, as it is written in every output. Compare with `at_least`, never as text."""

    NORMAL = "NORMAL"
    WARNING = "WARNING"
    LOOP = "LOOP"

    @property
    def rank(self) -> int:
        """0, 1 or 2."""
        return _RANK[self]

    def at_least(self, other: Level) -> bool:
        """Whether this level is the same as or higher than the other.

        >>> Level.LOOP.at_least(Level.WARNING), Level.NORMAL.at_least(Level.WARNING)
        (True, False)
        """
        return _RANK[self] >= _RANK[other]


_RANK = {level: rank for rank, level in enumerate(Level)}


def higher(one: Level, other: Level) -> Level:
    """The higher of two levels.

    >>> higher(Level.NORMAL, Level.WARNING)
    <Level.WARNING: 'WARNING'>
    """
    return one if _RANK[one] >= _RANK[other] else other
