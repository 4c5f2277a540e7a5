"""What guards answer to a command, and what became of it: asked, received, in effect, over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum, unique
from types import MappingProxyType
from typing import Any, Final, Self

from eddy_client.protocol import Status

from streams.control.command import block, number, optional_number, optional_text, text


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


PRESENT_MS: Final = 10 * 60_000
"""A guard that was heard of since is there: it says so every five minutes."""


@unique
class CommandPhase(StrEnum):
    """How far a command has come with one guard."""

    ASKED = "asked"
    RECEIVED = "received"
    IN_EFFECT = "in effect"
    OVER = "over"
    """It was in effect, or would have been: a newer command or its end came."""
    REFUSED = "refused"
    """The guard will not or cannot do it."""


_PHASES: Final[Mapping[str, CommandPhase]] = MappingProxyType(
    {
        Status.RECEIVED: CommandPhase.RECEIVED,
        Status.APPLIED: CommandPhase.IN_EFFECT,
        Status.RELEASED: CommandPhase.OVER,
        Status.EXPIRED: CommandPhase.OVER,
        Status.SUPERSEDED: CommandPhase.OVER,
        Status.REJECTED: CommandPhase.REFUSED,
        Status.UNSUPPORTED: CommandPhase.REFUSED,
        Status.FAILED: CommandPhase.REFUSED,
    }
)

Guard = tuple[str, str]
"""Session and guard_id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardAnswer:
    """The newest that a guard said of a command, and when it first received it (ms)."""

    ack: Ack
    phase: CommandPhase
    received_at: int | None


def answers(command_id: str, acks: Iterable[Ack]) -> dict[Guard, GuardAnswer]:
    """Return the newest answer of each guard to a command, for acks in the order of their partition.

    A guard repeats an answer if a command comes again; the first of them counts.
    """
    seen: set[str] = set()
    newest: dict[Guard, GuardAnswer] = {}
    for ack in acks:
        phase = _PHASES.get(ack.status)
        if ack.command_id != command_id or phase is None or ack.id in seen:
            continue
        seen.add(ack.id)
        guard = (ack.session_id, ack.guard_id)
        before = newest.get(guard)
        received = ack.at if before is None else before.received_at
        newest[guard] = GuardAnswer(ack=ack, phase=phase, received_at=received)
    return newest


def present(acks: Iterable[Ack], now: int) -> dict[Guard, Presence]:
    """Return the guards that were heard of in the last ten minutes and have not left, as of ``now`` (ms)."""
    heard: dict[Guard, Presence] = {}
    for ack in acks:
        guard = (ack.session_id, ack.guard_id)
        if ack.status == Status.DETACHED:
            heard.pop(guard, None)
            continue
        before = heard.get(guard)
        heard[guard] = Presence(
            heard_at=max(ack.at, before.heard_at if before else ack.at),
            agent_id=ack.agent_id or (before.agent_id if before else None),
            guard=ack.guard or (before.guard if before else None),
        )
    return {guard: each for guard, each in heard.items() if each.heard_at >= now - PRESENT_MS}


def departed(acks: Iterable[Ack], now: int) -> dict[Guard, Ack]:
    """Return the guards that have left in the last ten minutes, as of ``now`` (ms), with what they said then.

    A guard leaves when its session ends, or its process. One that has come back has not left.
    """
    gone: dict[Guard, Ack] = {}
    for ack in acks:
        guard = (ack.session_id, ack.guard_id)
        if ack.status == Status.DETACHED:
            gone[guard] = ack
        else:
            gone.pop(guard, None)
    return {guard: each for guard, each in gone.items() if each.at >= now - PRESENT_MS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """When a guard was last heard of (ms), its agent, and what it is."""

    heard_at: int
    agent_id: str | None
    guard: GuardFacts | None


def furthest(found: Iterable[GuardAnswer]) -> CommandPhase:
    """Return how far a command has come with the guard that is furthest; asked without any answer."""
    order = (CommandPhase.IN_EFFECT, CommandPhase.OVER, CommandPhase.RECEIVED, CommandPhase.REFUSED)
    phases = {each.phase for each in found}
    return next((phase for phase in order if phase in phases), CommandPhase.ASKED)
