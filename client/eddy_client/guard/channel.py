"""The way commands come in and acks go out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from eddy_client.guard.command import Command


class AlreadyApplied(NamedTuple):
    """A message that a guard of the session has handed over before."""

    session_id: str
    command_id: str


Heard = Command | AlreadyApplied

MOST_ACKS = 100
"""Acks that are handed over at once: a console takes 256 KiB, and a checkpoint may be long."""


class Channel(Protocol):
    """A way to the operators. One thread uses it; what it raises counts as a lost channel."""

    @property
    def is_current(self) -> bool:
        """Whether all that was commanded before is known."""

    def knows(self, session_id: str) -> bool:
        """Whether all that was commanded before is known for a session."""

    @property
    def heard_at(self) -> float:
        """When the other side was last known to be there, by `time.monotonic`."""

    def watch(self, sessions: Collection[tuple[str, str | None]]) -> None:
        """Listen for these sessions, each with its agent, and for no others."""

    def step(self, within: float) -> Sequence[Heard]:
        """Wait for so many seconds at most; return what came."""

    def send(self, acks: Sequence[Mapping[str, Any]]) -> None:
        """Hand acks over, at most `MOST_ACKS`. The channel sends them, or returns them when it is closed."""

    def close(self, within: float) -> Sequence[Mapping[str, Any]]:
        """Send what waits, for so many seconds at most, and end; return the acks that were not sent."""
