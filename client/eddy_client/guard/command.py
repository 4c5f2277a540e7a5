"""A command as a guard reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from eddy_client.protocol import OnTimeout, Scope, is_possible


class Command(NamedTuple):
    """What an operator asks.

    Attributes:
        scope: `session`, or a hold: `agent` or `all`.
        target: the session, or the agent of a hold; empty for all.
        partition, offset: its place, which orders the commands of one target.
        written_at: when the broker took it, ms since 1970; 0 if that is not known.
        is_live: whether it was written while the guard listened, so that its age shows how far clocks differ.
        refusal: why the guard does not obey it, or None.
    """

    command_id: str
    scope: str
    target: str
    action: str
    issued_at: int
    expires_at: int
    on_timeout: str
    message: str
    steps_budget: int | None
    tokens_budget: int | None
    reason: str
    origin: str
    partition: int = 0
    offset: int = 0
    written_at: int = 0
    is_live: bool = False
    refusal: str | None = None

    @property
    def is_possible(self) -> bool:
        """Whether this guard knows what to do."""
        return is_possible(self.scope, self.action)

    def concerns(self, session_id: str, agent_id: str | None) -> bool:
        """Tell whether a session of an agent has to obey it."""
        if self.scope == Scope.SESSION:
            return self.target == session_id
        return self.scope == Scope.ALL or self.target == agent_id

    @classmethod
    def of(cls, fields: Mapping[str, Any], **place: Any) -> Command:
        """Return the command with these fields.

        Raises:
            ValueError: they are not those of a command.
        """
        try:
            scope = fields["scope"]
            named = {"session": fields.get("session_id"), "agent": fields.get("agent_id"), "all": ""}
            target: Any = named[scope]
            issuer = fields.get("issuer") or {}
            found = cls(
                command_id=fields["command_id"],
                scope=scope,
                target=target,
                action=fields["action"],
                issued_at=fields["issued_at"],
                expires_at=fields["expires_at"],
                on_timeout=fields.get("on_timeout") or OnTimeout.RESUME,
                message=fields.get("message") or "",
                steps_budget=fields.get("steps_budget"),
                tokens_budget=fields.get("tokens_budget"),
                reason=fields.get("reason") or "",
                origin=issuer.get("name") or "",
                **place,
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"It is no command ({error!r}).") from error
        texts = (found.command_id, found.target, found.action, found.message, found.reason, found.origin)
        numbers = (found.issued_at, found.expires_at)
        if not all(isinstance(each, str) for each in texts) or not all(
            isinstance(each, int) for each in numbers
        ):
            raise ValueError("It is no command: a field has another type.")
        return found


class Note(NamedTuple):
    """A message for the agent's model. Data: the runtime decides where it stands in the prompt.

    Attributes:
        text: the message.
        origin: who wrote it.
        command_id: the command it came with.
    """

    text: str
    origin: str
    command_id: str


class Budget(NamedTuple):
    """New totals for the runtime's own limits; None leaves one as it is."""

    steps: int | None
    tokens: int | None
