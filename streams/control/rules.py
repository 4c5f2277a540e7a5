"""What a command must be before it is published."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eddy_client.protocol import (
    HOLDS,
    LONGEST_ID,
    LONGEST_MESSAGE,
    LONGEST_MS,
    LONGEST_REASON,
    Action,
    OnTimeout,
    Scope,
)

from streams.control.command import Command, IssuerKind
from streams.core.errors import ConfigurationError

_LARGEST_BUDGET: Final = 2**63 - 1


def checked(command: Command) -> Command:
    """Return the command if it may be published.

    Raises:
        ConfigurationError: says what is wrong with it, each thing once.
    """
    if problems := tuple(_problems(command)):
        raise ConfigurationError(f"The command is not sent. {' '.join(problems)}")
    return command


def _problems(command: Command) -> Iterator[str]:
    yield from _whom(command)
    if command.action not in frozenset(Action):
        yield f"Choose one of the actions {', '.join(Action)}."
    if not command.command_id:
        yield "It needs a command_id."
    yield from _text("a reason", command.reason, LONGEST_REASON, "Say why.")
    yield from _time(command)
    yield from _message(command)
    yield from _budgets(command)
    yield from _issuer(command)
    if not _encodable(command):
        yield "A text of it is no valid Unicode: it has half of a surrogate pair."


def _whom(command: Command) -> Iterator[str]:
    match command.scope:
        case Scope.SESSION:
            yield from _text("a session", command.session_id or "", LONGEST_ID, "Name the session.")
        case Scope.AGENT:
            yield from _text("an agent", command.agent_id or "", LONGEST_ID, "Name the agent.")
        case Scope.ALL if command.agent_id is not None:
            yield "A hold of all agents names none."
        case Scope.ALL:
            pass
        case _:
            yield f"Choose one of the scopes {', '.join(Scope)}."
    if command.is_hold and command.session_id is not None:
        yield "A hold names no session."
    if command.is_hold and command.action not in HOLDS:
        yield "A hold can only pause and resume: give the other actions to a session."


def _time(command: Command) -> Iterator[str]:
    if command.issued_at < 0:
        yield "It was issued before 1970."
    lasts = command.expires_at - command.issued_at
    if not 0 < lasts <= LONGEST_MS:
        yield f"It must expire within {LONGEST_MS // 3_600_000} hours, and not at once."
    if command.action == Action.PAUSE and command.on_timeout not in frozenset(OnTimeout):
        yield f"Say what happens when the pause ends: {' or '.join(OnTimeout)}."
    if command.action != Action.PAUSE and command.on_timeout is not None:
        yield "Only a pause has something to happen when it ends."


def _message(command: Command) -> Iterator[str]:
    if command.action == Action.INJECT_MESSAGE:
        yield from _text("a message", command.message or "", LONGEST_MESSAGE, "Say what it shall read.")
    elif command.message is not None:
        yield f"Only {Action.INJECT_MESSAGE} has a message."


def _budgets(command: Command) -> Iterator[str]:
    budgets = [each for each in (command.steps_budget, command.tokens_budget) if each is not None]
    if command.action == Action.RAISE_BUDGET:
        if not budgets:
            yield "Give the new total of steps, of tokens, or of both."
        if any(not 0 < each <= _LARGEST_BUDGET for each in budgets):
            yield "A budget is a total of 1 or more."
    elif budgets:
        yield f"Only {Action.RAISE_BUDGET} has budgets."


def _issuer(command: Command) -> Iterator[str]:
    if command.issuer.kind not in frozenset(IssuerKind):
        yield f"Its issuer must be one of {', '.join(IssuerKind)}."
    if command.issuer.kind == IssuerKind.POLICY:
        if command.is_hold:
            yield "A policy cannot hold an agent."
        if command.on_timeout == OnTimeout.ABORT:
            yield "A pause of a policy cannot end with an abort: let the abort be a step of its own."


def _text(what: str, given: str, longest: int, otherwise: str) -> Iterator[str]:
    if not given.strip():
        yield otherwise
    elif len(given) > longest:
        yield f"It has {what} of {len(given):,} characters: {longest:,} are possible."


def _encodable(command: Command) -> bool:
    try:
        repr_of = (command.session_id, command.agent_id, command.reason, command.message, command.issuer.name)
        "".join(each or "" for each in repr_of).encode()
    except UnicodeEncodeError:
        return False
    return True
