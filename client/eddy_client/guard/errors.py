"""What a check raises."""

from __future__ import annotations


class SessionAborted(Exception):  # noqa: N818 - it is what happened, not a fault
    """An operator has ended the session. Every further check raises it again.

    Attributes:
        reason: why, in the words of the operator.
        command_id: the command.
    """

    def __init__(self, reason: str, command_id: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.command_id = command_id


class GuardUnavailable(RuntimeError):  # noqa: N818 - it is what happened, not a fault
    """No command can reach this process now, and the guard was told to let nothing happen then."""
