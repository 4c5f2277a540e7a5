"""What became of a command, by what the guards answered: asked, received, in effect, over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from types import MappingProxyType
from typing import Final

from eddy_client.protocol import Status

from streams.control.ack import Ack, GuardFacts

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
