"""What a session, an agent or every agent is asked to do, as a value and as the fields of its record.

Commands are levels that expire (docs/decisions.md, 17): a repeat changes nothing, and the newest counts.

Read the fields of a record that another program may have written.

Each function raises MalformedError with the name of a field that is not what it should be, never with its
value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum, unique
from typing import Any, Self

from eddy_client.protocol import HOLD_OF_ALL, Scope, hold_key

from streams.core.errors import EddyError


class MalformedError(EddyError):
    """A record of the control loop is not what its schema says. It is left out, and its place named."""


def text(fields: Mapping[str, Any], name: str) -> str:
    """Return a field that must be text."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise MalformedError(f"{name} must be text")
    return value


def optional_text(fields: Mapping[str, Any], name: str) -> str | None:
    """Return a field that may be text or null."""
    return None if fields.get(name) is None else text(fields, name)


def number(fields: Mapping[str, Any], name: str) -> int:
    """Return a field that must be a whole number."""
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedError(f"{name} must be a whole number")
    return value


def optional_number(fields: Mapping[str, Any], name: str) -> int | None:
    """Return a field that may be a whole number or null."""
    return None if fields.get(name) is None else number(fields, name)


def block(fields: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return a field that may be an object or null."""
    value = fields.get(name)
    if value is None or isinstance(value, Mapping):
        return value
    raise MalformedError(f"{name} must be an object")


@unique
class IssuerKind(StrEnum):
    """Where a command comes from."""

    OPERATOR = "operator"
    """A person at the console."""
    POLICY = "policy"
    """A rule of intervention-policy."""
    CLI = "cli"
    """A person at a shell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """Who asks. ``via`` is how the person was known, such as token or the name of a machine."""

    kind: str
    name: str
    role: str | None = None
    via: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The alert that a command answers; ``partition`` and ``offset`` are of decision-logs."""

    event_type: str | None = None
    event_id: str | None = None
    episode_id: str | None = None
    partition: int | None = None
    offset: int | None = None
    settings_version: int | None = None

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        """Read the fields of the block.

        Raises:
            MalformedError: a field is of another type; the message names it, not its value.
        """
        return cls(
            event_type=optional_text(fields, "event_type"),
            event_id=optional_text(fields, "event_id"),
            episode_id=optional_text(fields, "episode_id"),
            partition=optional_number(fields, "partition"),
            offset=optional_number(fields, "offset"),
            settings_version=optional_number(fields, "settings_version"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """The rule of intervention-policy that issued a command, and the version of its document."""

    name: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command. Times in ms since 1970; budgets are new totals.

    ``action`` and ``scope`` may be words of a later version: readers take them as they come, `checked` only
    lets those of `eddy_client.protocol` out.
    """

    command_id: str
    scope: str
    action: str
    issued_at: int
    expires_at: int
    reason: str
    issuer: Issuer
    session_id: str | None = None
    agent_id: str | None = None
    on_timeout: str | None = None
    message: str | None = None
    steps_budget: int | None = None
    tokens_budget: int | None = None
    cause: Cause | None = None
    policy: PolicyRule | None = None

    @property
    def key(self) -> bytes:
        """The Kafka key: the session; of a hold, agent/ and the id, or all.

        Raises:
            MalformedError: the command does not name whom it is for.
        """
        match self.scope:
            case Scope.ALL:
                return HOLD_OF_ALL.encode()
            case Scope.AGENT if self.agent_id is not None:
                return hold_key(self.agent_id)
            case Scope.SESSION if self.session_id is not None:
                return self.session_id.encode()
        raise MalformedError(f"command {self.command_id}: nothing says whom it is for")

    @property
    def is_hold(self) -> bool:
        """Whether it is for an agent or for all, and not for one session."""
        return self.scope != Scope.SESSION

    def concerns(self, session_id: str, agent_id: str | None) -> bool:
        """Tell whether a session of an agent has to obey it."""
        match self.scope:
            case Scope.SESSION:
                return self.session_id == session_id
            case Scope.AGENT:
                return agent_id is not None and self.agent_id == agent_id
            case _:
                return self.scope == Scope.ALL

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record, as the schema has them."""
        return asdict(self)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        """Read the fields of a record.

        Raises:
            MalformedError: a field is missing or of another type; the message names it, not its value.
        """
        issuer, cause, policy = block(fields, "issuer"), block(fields, "cause"), block(fields, "policy")
        if issuer is None:
            raise MalformedError("issuer must be an object")
        return cls(
            command_id=text(fields, "command_id"),
            scope=text(fields, "scope"),
            action=text(fields, "action"),
            issued_at=number(fields, "issued_at"),
            expires_at=number(fields, "expires_at"),
            reason=text(fields, "reason"),
            issuer=Issuer(
                kind=text(issuer, "kind"),
                name=text(issuer, "name"),
                role=optional_text(issuer, "role"),
                via=optional_text(issuer, "via"),
            ),
            session_id=optional_text(fields, "session_id"),
            agent_id=optional_text(fields, "agent_id"),
            on_timeout=optional_text(fields, "on_timeout"),
            message=optional_text(fields, "message"),
            steps_budget=optional_number(fields, "steps_budget"),
            tokens_budget=optional_number(fields, "tokens_budget"),
            cause=None if cause is None else Cause.of(cause),
            policy=None
            if policy is None
            else PolicyRule(name=text(policy, "name"), version=number(policy, "version")),
        )
