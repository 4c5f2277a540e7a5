"""What an integration needs of a guarded session, and the words it hands on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from eddy_client.guard import Note, SessionAborted, State

HOOK_MARGIN_S = 10.0
"""So long before its timeout a hook answers: the tool may run if a hook times out."""

PAUSED = "An operator has paused this session. Call the tool again: the call waits until the pause is over."


class Guarded(Protocol):
    """A session under a guard, as `Guard.session` returns it.

    Attributes:
        integration: The runtime that the agent is in, for operators.
        checkpoint: From where the agent continues after a pause, for operators.
    """

    integration: str
    checkpoint: str | None

    def check(self, tool: str | None = None, *, notes: bool = True) -> Sequence[Note]:
        """Wait while the session is paused, then return the notes that have arrived, if they are wanted.

        Raises:
            SessionAborted: an operator has ended the session.
            GuardUnavailable: the guard has lost its channel, and this may not run without it.
        """

    async def acheck(self, tool: str | None = None, *, notes: bool = True) -> Sequence[Note]:
        """Do what `check` does, in asyncio."""

    def peek(self) -> State:
        """Return how the session stands, without waiting."""

    def hold(self, checkpoint: str | None = None) -> State:
        """Let what was commanded take effect without waiting, and return how the session stands."""


def words_of(note: Note) -> str:
    """Return a note as the model reads it, with its origin: models distrust text that comes in mid-task."""
    return f"Note from {note.origin}, who watches over this run: {note.text}"


def end_of(aborted: SessionAborted) -> str:
    """Return how a run says that it was ended."""
    return f"An operator has ended this session: {aborted.reason}"
