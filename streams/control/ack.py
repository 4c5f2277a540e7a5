"""What a guard answers to a command, as a value and as the fields of its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from streams.control.reading import block, number, optional_number, optional_text, text


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardFacts:
    """What a guard is: its version, the framework it is in, its machine and process."""

    version: str | None = None
    integration: str | None = None
    host: str | None = None
    pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """An answer. Times in ms since 1970; ``status`` may be a word of a later version."""

    id: str
    session_id: str
    status: str
    at: int
    guard_id: str
    command_id: str | None = None
    agent_id: str | None = None
    effective_at: int | None = None
    guard: GuardFacts | None = None
    command_partition: int | None = None
    command_offset: int | None = None
    last_event_id: str | None = None
    checkpoint: str | None = None
    detail: str | None = None

    @property
    def key(self) -> bytes:
        """The Kafka key."""
        return self.session_id.encode()

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record, as the schema has them."""
        return asdict(self)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        """Read the fields of a record.

        Raises:
            MalformedError: a field is missing or of another type; the message names it, not its value.
        """
        guard = block(fields, "guard")
        return cls(
            id=text(fields, "id"),
            session_id=text(fields, "session_id"),
            status=text(fields, "status"),
            at=number(fields, "at"),
            guard_id=text(fields, "guard_id"),
            command_id=optional_text(fields, "command_id"),
            agent_id=optional_text(fields, "agent_id"),
            effective_at=optional_number(fields, "effective_at"),
            guard=None
            if guard is None
            else GuardFacts(
                version=optional_text(guard, "version"),
                integration=optional_text(guard, "integration"),
                host=optional_text(guard, "host"),
                pid=optional_number(guard, "pid"),
            ),
            command_partition=optional_number(fields, "command_partition"),
            command_offset=optional_number(fields, "command_offset"),
            last_event_id=optional_text(fields, "last_event_id"),
            checkpoint=optional_text(fields, "checkpoint"),
            detail=optional_text(fields, "detail"),
        )
