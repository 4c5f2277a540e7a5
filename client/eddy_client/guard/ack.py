"""What a guard says, as a record of `session-command-acks`."""

from __future__ import annotations

import os
import socket
from typing import Any, Protocol

from eddy_client.guard.control import Answer
from eddy_client.texts import bounded
from eddy_client.version import installed_version

_LONGEST = 4_000
"""Characters: such that an ack is smaller than the 64 KiB of its topic, however it is written."""


class AnsweringSession(Protocol):
    """The part of a session under a guard that its answers name."""

    @property
    def session_id(self) -> str:
        """Id of the session."""

    @property
    def agent_id(self) -> str | None:
        """Its agent, if that is known."""

    @property
    def integration(self) -> object:
        """The framework it is in."""

    @property
    def last_event_id(self) -> object:
        """The newest step, as the agent has set it."""

    @property
    def checkpoint(self) -> object:
        """From where the agent continues, as it has set it."""


def ack_of(
    guard_id: str, session: AnsweringSession, status: str, answer: Answer | None, at: int
) -> dict[str, Any]:
    """Return the record of an answer, or without one of presence. Whatever the agent has set, it can be sent.

    Args:
        guard_id: Of the guard of this process.
        session: Whom it is about.
        status: As on the topic.
        answer: To a command.
        at: ms since 1970.
    """
    command = answer.command if answer is not None else None
    subject = session.session_id if command is None else command.command_id
    # A guard may watch over a thousand sessions, which a hold concerns all.
    guard_id = f"{guard_id}/{session.session_id}"[:200]
    tail = f"/{at}" if command is None else ""
    return {
        "id": f"{subject}/{guard_id}/{status}{tail}",
        "command_id": None if command is None else command.command_id,
        "session_id": session.session_id,
        "agent_id": session.agent_id,
        "status": status,
        "at": at,
        "effective_at": None if answer is None else answer.effective_at,
        "guard_id": guard_id,
        "guard": {
            "version": installed_version(),
            "integration": _text(session.integration),
            "host": socket.gethostname(),
            "pid": os.getpid(),
        },
        "command_partition": None if command is None else command.partition,
        "command_offset": None if command is None else command.offset,
        "last_event_id": _text(session.last_event_id),
        "checkpoint": _text(session.checkpoint),
        "detail": None if answer is None else answer.detail,
    }


def _text(value: object) -> str | None:
    """Return what the agent has set as text. What could not be sent would keep back whatever follows it."""
    return None if value is None else bounded(value, _LONGEST).text
