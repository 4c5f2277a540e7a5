"""In what way a record repeats, or does not: what distinguishes detectors."""

from __future__ import annotations

from enum import StrEnum

from streams.domain.decision import Decision


class Kind(StrEnum):
    """How a call stands to those before it. The first that applies."""

    FIRST = "first"
    """Nothing came before it."""
    SAME_CALL = "same call"
    """The record before made the same call."""
    RETURNING = "returning"
    """An earlier record of the session made the same call; other work came between."""
    SAME_TOOL = "same tool"
    """The record before called the same tool with other arguments; without a tool, had another intent."""
    OTHER = "other tool"
    """The record before called another tool."""


class Kinds:
    """Tells the kinds of the records of one session, in order."""

    def __init__(self) -> None:
        self._calls: set[str] = set()
        self._previous: Decision | None = None

    def next(self, decision: Decision) -> Kind:
        """Return the kind of the next record."""
        previous, self._previous = self._previous, decision
        known = decision.call in self._calls
        self._calls.add(decision.call)
        if previous is None:
            return Kind.FIRST
        if decision.call == previous.call:
            return Kind.SAME_CALL
        if known:
            return Kind.RETURNING
        return Kind.SAME_TOOL if decision.tool == previous.tool else Kind.OTHER
