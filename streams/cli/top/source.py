"""Where what loops is read from: the topics of a job, or the logs of agents."""

from __future__ import annotations

from typing import Protocol

from streams.cli.top.picture import NewestSteps, ReadingProgress
from streams.console.read_model.model import ReadModel


class TopSource(Protocol):
    """Reads until it is cancelled."""

    @property
    def model(self) -> ReadModel:
        """Picture of what was read so far."""

    @property
    def steps(self) -> NewestSteps:
        """What agents did last."""

    @property
    def stop(self) -> str | None:
        """The command that pauses a session, without its name; None if none can."""

    async def call_wrong(self, session_id: str) -> None:
        """Say that a session is not a loop, by what is known of it now.

        Raises:
            EddyError: that cannot be said here, or now.
        """

    async def run(self) -> None:
        """Read for ever.

        Raises:
            InfrastructureError: it must not be read.
        """

    async def caught_up(self) -> None:
        """Wait until all that there is by now is read."""

    def reading(self) -> ReadingProgress:
        """Return how far the reading is."""
