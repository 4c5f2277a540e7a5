"""Issue a command from a shell, and wait for what the guards say."""

from __future__ import annotations

import asyncio
import os
import platform
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from schemas.numbers import CONTROL_SUBJECTS
from streams.cli.settings_change import user
from streams.cli.text.command_text import answer_line, asked_line, fields, silence_lines
from streams.cli.text.screen import echo, echo_json, echo_lines, status
from streams.control.audit import uuid7
from streams.control.command import Command, Issuer, IssuerKind
from streams.control.issuing import audit_of, issued
from streams.control.outcome import (
    PRESENT_MS,
    Ack,
    CommandPhase,
    Guard,
    GuardAnswer,
    answers,
    departed,
    furthest,
    present,
)
from streams.control.publisher import CommandPublisher
from streams.control.rules import checked
from streams.control.trail import Trail
from streams.kafka.client import connect
from streams.observe.settings import CommandSettings, load
from streams.worker.endpoints import connection, open_codec

_POLL_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPost:
    """What the commands work with."""

    publisher: CommandPublisher
    trail: Trail


@asynccontextmanager
async def open_post(bootstrap_servers: str | None) -> AsyncIterator[CommandPost]:
    """Connect to the brokers, and to the registry if there is one.

    Raises:
        ConfigurationError: a setting is wrong.
        InfrastructureError: no broker or no registry answers.
    """
    settings = load(CommandSettings, bootstrap_servers=bootstrap_servers)
    async with connect(connection(settings)) as brokers:
        codec = await open_codec(settings, CONTROL_SUBJECTS)
        try:
            publisher = CommandPublisher(brokers, codec, settings.command_key_bytes)
            yield CommandPost(publisher=publisher, trail=Trail(brokers, codec))
        finally:
            await codec.close()


def issuer() -> Issuer:
    """Return who issues a command from this shell."""
    return Issuer(kind=IssuerKind.CLI, name=user(), via=platform.node() or None)


def new_id(at: int) -> str:
    """Return an id that no other command has."""
    return uuid7(at, os.urandom(10))


def now_ms() -> int:
    """Return the time in ms since 1970."""
    return int(time.time() * 1000)


async def issue(command: Command, *, wait_s: float, as_json: bool, bootstrap_servers: str | None) -> bool:
    """Publish a command, report what became of it, and return whether no guard refused or was silent.

    Raises:
        ConfigurationError: the command breaks a rule, or a setting is wrong; nothing is published.
        InfrastructureError: the brokers failed.
    """
    checked(command)
    async with open_post(bootstrap_servers) as post:
        following = await post.trail.follow(command.session_id, command.issued_at - PRESENT_MS)
        guards = _covered(command, await following.advance())
        record = audit_of([command], new_id(command.issued_at))
        [place] = await issued(post.publisher, [command], record)
        if not as_json:
            echo(asked_line(command, place))
        found: Mapping[Guard, GuardAnswer] = {}
        gone: Mapping[Guard, Ack] = {}
        until = time.monotonic() + wait_s
        while wait_s:
            acks = await following.advance()
            before, found = found, answers(command.command_id, acks)
            gone = _gone(command, acks)
            guards = (guards | _covered(command, acks)) - (gone.keys() - found.keys())
            if not as_json:
                _tell(command, before, found)
            if (guards or gone) and all(guard in gone or _settled(found.get(guard)) for guard in guards):
                break
            if time.monotonic() >= until:
                break
            status(f"{len(found)} of {len(guards)} guards have answered ...")
            await asyncio.sleep(_POLL_SECONDS)
        status("")
    if as_json:
        echo_json(fields(command, place, found.values(), guards))
    elif wait_s:
        echo_lines(silence_lines(command, wait_s, found, guards, gone.values()))
    return not wait_s or furthest(found.values()) not in {CommandPhase.ASKED, CommandPhase.REFUSED}


def _covered(command: Command, acks: Iterable[Ack]) -> frozenset[Guard]:
    """Return the guards that are there and have to obey."""
    return frozenset(
        guard for guard, each in present(acks, now_ms()).items() if command.concerns(guard[0], each.agent_id)
    )


def _gone(command: Command, acks: Iterable[Ack]) -> dict[Guard, Ack]:
    """Return the guards that would have had to obey and have left."""
    gone = departed(acks, now_ms())
    return {guard: each for guard, each in gone.items() if command.concerns(guard[0], each.agent_id)}


def _settled(answer: GuardAnswer | None) -> bool:
    return answer is not None and answer.phase is not CommandPhase.RECEIVED


def _tell(command: Command, before: Mapping[Guard, GuardAnswer], found: Mapping[Guard, GuardAnswer]) -> None:
    """Write a line for each guard whose newest answer is another one."""
    for guard, answer in found.items():
        if before.get(guard) != answer:
            echo(answer_line(command, answer, with_session=command.is_hold))
