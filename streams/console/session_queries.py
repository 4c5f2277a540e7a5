"""What actions have to know of the sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from streams.console.read_model.hold import Hold
from streams.console.read_model.model import ReadModel
from streams.console.read_model.triage import EpisodeSeen


class SessionQueries(Protocol):
    """The part of the read model that actions ask."""

    def seen(self, subject: str) -> EpisodeSeen:
        """Return how an episode is now; one that is not known as if nothing had happened."""

    def live(self, agent_id: str | None) -> int:
        """Return how many sessions of an agent are live, or of all for None."""

    def holds(self) -> Sequence[Hold]:
        """Return the holds in force."""


@dataclass(frozen=True, slots=True)
class ModelKnown:
    """Asks the read model.

    Attributes:
        model: Read model of the console.
        clock: Returns the time in milliseconds since 1970.
    """

    model: ReadModel
    clock: Callable[[], int]

    def seen(self, subject: str) -> EpisodeSeen:
        """Return how an episode is now."""
        return EpisodeSeen.of(self.model.episode(subject))

    def live(self, agent_id: str | None) -> int:
        """Return how many sessions are live."""
        now = self.clock()
        if agent_id is None:
            return self.model.live(now)
        since = now - self.model.live_ms
        sessions = (case.session for case in self.model.cases.values())
        live = (each for each in sessions if (each.last_ts or 0) >= since and not each.ended)
        return sum(each.agent_id == agent_id for each in live)

    def holds(self) -> Sequence[Hold]:
        """Return the holds in force."""
        return self.model.holds_in_force(self.clock())
