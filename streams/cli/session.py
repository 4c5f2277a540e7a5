"""`eddy session`: ask agents to stop, to go on, to read a message; and see whether they did."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import click
from eddy_client.protocol import LONGEST_MS, MINUTE_MS, Action, OnTimeout, Scope

from schemas.numbers import CONTROL_SUBJECTS
from streams.cli.command_group import PROBLEM_FOUND, CommandGroup
from streams.cli.duration_type import DurationType
from streams.cli.settings_change import AS_JSON, BOOTSTRAP, user
from streams.cli.text.command_text import (
    answer_line,
    asked_line,
    fields,
    history_lines,
    presence_lines,
    silence_lines,
)
from streams.cli.text.screen import echo, echo_json, echo_lines, status
from streams.control.audit import uuid7
from streams.control.command import Command, Issuer, IssuerKind
from streams.control.outcome import (
    PRESENT_MS,
    Ack,
    CommandPhase,
    Guard,
    GuardAnswer,
    Presence,
    answers,
    departed,
    furthest,
    present,
)
from streams.control.publisher import CommandPublisher, audit_of, issued
from streams.control.rules import checked
from streams.control.trail import Following, PlacedCommand, Trail
from streams.core.domain.text.figures import count
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


@click.group(cls=CommandGroup)
def session() -> None:
    """Pause, resume or abort agents, and see whether they obeyed.

    A command reaches an agent that runs under a guard of eddy-client, before its next step. It expires: a
    pause that is forgotten ends by itself. `eddy session commands` shows what became of each.

    \b
    Exit codes of those that ask: 0 a guard has received it, 1 no guard answered
    in time, or it refused, 2 the command is wrong and was not sent, 3 the brokers
    cannot be reached.
    """  # noqa: D301


#: A pause does not end by itself unless its end was chosen.
_DEFAULTS_MS: Final = {Action.PAUSE: LONGEST_MS}
_DEFAULT_MS: Final = 15 * MINUTE_MS


def _asking(command: Callable[..., None]) -> Callable[..., None]:
    for decorate in (
        click.option("--why", required=True, metavar="TEXT", help="For the agent, and for the audit."),
        click.option(
            "--ttl",
            type=DurationType(),
            default=None,
            help="For how long the command counts: a pause for 24h, which is the most, others for 15m.",
        ),
        click.option(
            "--wait",
            "wait_s",
            type=click.FloatRange(0.0, 600.0),
            default=10.0,
            show_default=True,
            help="Seconds to wait for the guards; 0 does not wait.",
        ),
        AS_JSON,
        BOOTSTRAP,
    ):
        command = decorate(command)
    return command


def _holding(command: Callable[..., None]) -> Callable[..., None]:
    for decorate in (
        click.argument("session_id", required=False, metavar="[SESSION]"),
        click.option("--agent", metavar="ID", help="A hold: all sessions of this agent, and those to come."),
        click.option("--all", "everyone", is_flag=True, help="A hold: every agent that has a guard."),
        click.option("--yes", is_flag=True, help="Do not ask before a hold of all."),
    ):
        command = decorate(command)
    return command


@session.command("pause")
@_holding
@click.option(
    "--on-timeout",
    type=click.Choice([*map(str, OnTimeout)]),
    default=str(OnTimeout.RESUME),
    show_default=True,
    help="What happens when the time is over.",
)
@_asking
def pause_command(*, on_timeout: str, **options: Any) -> None:
    """Let an agent stop before its next step, and wait.

    \b
    Examples:
      eddy session pause s-17 --why "the same search five times" --ttl 30m
      eddy session pause --agent coder-7 --why "wrong branch"
    """  # noqa: D301
    _level(Action.PAUSE, on_timeout=on_timeout, **options)


@session.command("resume")
@_holding
@_asking
def resume_command(**options: Any) -> None:
    """Let a paused agent go on.

    A hold is released by the words it was given with: --agent or --all.
    """
    _level(Action.RESUME, on_timeout=None, **options)


@session.command("abort")
@click.argument("session_id", metavar="SESSION")
@_asking
def abort_command(**options: Any) -> None:
    """Let an agent end at its next step. Nothing undoes that."""
    _issue(action=Action.ABORT, **options)


@session.command("note")
@click.argument("session_id", metavar="SESSION")
@click.option("--message", required=True, metavar="TEXT", help="What the agent shall read.")
@_asking
def note_command(**options: Any) -> None:
    """Give an agent a message, which its runtime puts into the next prompt.

    \b
    Example:
      eddy session note s-17 --why "it looks in the wrong place" \\
          --message "The tests are in tests/unit."
    """  # noqa: D301
    _issue(action=Action.INJECT_MESSAGE, **options)


@session.command("budget")
@click.argument("session_id", metavar="SESSION")
@click.option("--steps", "steps_budget", type=click.IntRange(1), help="Steps in all: the new total.")
@click.option("--tokens", "tokens_budget", type=click.IntRange(1), help="Tokens in all: the new total.")
@_asking
def budget_command(**options: Any) -> None:
    """Set the budget of an agent's own runtime. The budget that Eddy computes stays as it is."""
    _issue(action=Action.RAISE_BUDGET, **options)


@session.command("commands")
@click.argument("session_id", metavar="SESSION")
@click.option("--all", "everything", is_flag=True, help="Also what is older than 24 hours, as far as kept.")
@AS_JSON
@BOOTSTRAP
def commands_command(
    *, session_id: str, everything: bool, as_json: bool, bootstrap_servers: str | None
) -> None:
    """Print what a session was asked to do, what its guards answered, and which guards it has.

    Holds that concern the session are among it. Times are UTC; [PARTITION:OFFSET] is the place on
    session-commands.
    """
    now = now_ms()
    try:
        session_id.encode()
    except UnicodeEncodeError as error:
        raise click.UsageError("SESSION is no valid text.") from error

    async def read() -> tuple[list[PlacedCommand], Following, dict[Guard, Presence], list[Ack], int]:
        async with open_post(bootstrap_servers) as post:
            following = await post.trail.follow(session_id, now - PRESENT_MS)
            guards = present(await following.advance(), now)
            gone = list(departed(following.acks, now).values())
            agents = {each.agent_id for each in guards.values() if each.agent_id is not None}
            found = [
                each
                for each in await post.trail.commands(session_id, agents)
                if everything or each.stored.timestamp >= now - LONGEST_MS
            ]
            if found:
                following = await post.trail.follow(session_id, found[0].stored.timestamp)
                await following.advance()
            return found, following, guards, gone, post.trail.unreadable

    found, following, guards, gone, unreadable = asyncio.run(read())
    for stored, command in found:
        place = (stored.partition, stored.offset)
        answered = answers(command.command_id, following.acks).values()
        if as_json:
            echo_json(fields(command, place, answered, guards))
        else:
            for line in history_lines(command, place, answered, now):
                echo(line)
    if unreadable:
        echo(f"Left out, because unreadable: {count(unreadable, 'record')}.", err=True)
    if as_json:
        return
    if not found:
        echo("No command." if everything else "No command in the last 24 hours; --all shows older ones.")
    echo_lines(presence_lines(session_id, guards, gone, now))


def _level(
    action: Action,
    *,
    session_id: str | None,
    agent: str | None,
    everyone: bool,
    yes: bool,
    **options: Any,
) -> None:
    """Issue a pause or a resume, of a session or as a hold."""
    if sum((session_id is not None, agent is not None, everyone)) != 1:
        raise click.UsageError("Say for whom: a SESSION, --agent ID, or --all.")
    if everyone and action is Action.PAUSE and not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("There is no terminal to ask: add --yes to hold every agent.")
        click.confirm("Hold every agent that has a guard?", abort=True, err=True)
    scope = Scope.ALL if everyone else Scope.SESSION if agent is None else Scope.AGENT
    _issue(action=action, scope=scope, session_id=session_id, agent_id=agent, **options)


def _issue(
    *,
    action: Action,
    why: str,
    ttl: int | None,
    wait_s: float,
    as_json: bool,
    bootstrap_servers: str | None,
    scope: Scope = Scope.SESSION,
    **details: Any,
) -> None:
    now = now_ms()
    command = checked(
        Command(
            command_id=new_id(now),
            scope=scope,
            action=action,
            issued_at=now,
            expires_at=now + (_DEFAULTS_MS.get(action, _DEFAULT_MS) if ttl is None else ttl),
            reason=why,
            issuer=issuer(),
            **details,
        )
    )
    going = issue(command, wait_s=wait_s, as_json=as_json, bootstrap_servers=bootstrap_servers)
    if not asyncio.run(going):
        raise click.exceptions.Exit(PROBLEM_FOUND)
