"""Commands to agents, and what became of them, for people and for machines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from eddy_client.protocol import Action, Scope, Status

from streams.cli.text.line import Line, TextSpan
from streams.control.command import Command
from streams.control.outcome import Ack, CommandPhase, Guard, GuardAnswer, GuardFacts, Presence, furthest
from streams.core.domain.text.figures import clock, day, duration
from streams.core.domain.text.printable import printable

_LONGEST_ID: Final = 120
_LONGEST_TEXT: Final = 300
_PHASE_AT: Final = 11

_STYLES: Final[Mapping[CommandPhase, str]] = MappingProxyType(
    {
        CommandPhase.ASKED: "cyan",
        CommandPhase.RECEIVED: "yellow",
        CommandPhase.IN_EFFECT: "bold green",
        CommandPhase.OVER: "dim",
        CommandPhase.REFUSED: "bold red",
    }
)

_EFFECTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        Action.PAUSE: "the agent is paused",
        Action.RESUME: "the agent runs",
        Action.ABORT: "the agent was told to end",
        Action.INJECT_MESSAGE: "the agent was given the message",
        Action.RAISE_BUDGET: "the agent has the new budget",
    }
)

#: What to do about a guard that does not obey.
_ADVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        Status.REJECTED: "Is EDDY_COMMAND_KEY here the key of the guard?",
        Status.UNSUPPORTED: "Upgrade eddy-client in the agent, or use another integration.",
    }
)


def whom(command: Command) -> str:
    """Return whom a command is for."""
    match command.scope:
        case Scope.ALL:
            return "every agent"
        case Scope.AGENT:
            return f"agent {printable(command.agent_id or '', _LONGEST_ID)}"
    return printable(command.session_id or "", _LONGEST_ID)


def what(command: Command) -> str:
    """Return what is asked for, without the reason."""
    until = moment(command.expires_at)
    match command.action:
        case Action.PAUSE:
            return f"pause until {until}, then {printable(command.on_timeout or 'resume', 20)}"
        case Action.INJECT_MESSAGE:
            return f"message {printable(command.message or '', _LONGEST_TEXT)!r}, until {until}"
        case Action.RAISE_BUDGET:
            totals = [
                f"{value:,} {name}"
                for value, name in ((command.steps_budget, "steps"), (command.tokens_budget, "tokens"))
                if value is not None
            ]
            return f"budget of {' and '.join(totals)} in all, until {until}"
    return f"{printable(command.action, 40)}, until {until}"


def asked_line(command: Command, place: tuple[int, int] | None) -> Line:
    """Return the line of a command that was just issued; without a place, of one that is not."""
    where = "not sent (dry run)" if place is None else f"{place[0]}:{place[1]} of session-commands"
    return _line(CommandPhase.ASKED, f"{whom(command)}: {what(command)} ({where})")


def answer_line(command: Command, answer: GuardAnswer, *, with_session: bool = False) -> Line:
    """Return what a guard said of a command."""
    ack = answer.ack
    who = guard_name(ack.guard_id, ack.guard)
    if with_session:
        who = f"{printable(ack.session_id, _LONGEST_ID)}, {who}"
    when = moment(ack.effective_at or ack.at)
    detail = f": {printable(ack.detail, _LONGEST_TEXT)}" if ack.detail else ""
    match answer.phase:
        case CommandPhase.RECEIVED:
            said = f"by {who}; it takes effect before the next step{detail}"
        case CommandPhase.IN_EFFECT:
            said = f"since {when}, {_EFFECTS.get(command.action, 'done')} ({who}){detail}"
        case _:
            said = f"{printable(ack.status, 40)} at {when} ({who}){detail}"
            said += f" {_ADVICE[ack.status]}" if ack.status in _ADVICE else ""
    return _line(answer.phase, said)


def silence_lines(
    command: Command,
    waited_s: float,
    found: Collection[Guard],
    guards: Collection[Guard],
    gone: Collection[Ack],
) -> Iterator[str]:
    """Yield what to know of guards that have not answered.

    Args:
        command: Command that the operator has sent.
        waited_s: For how long an answer was waited for.
        found: The guards that have answered.
        guards: Those that have to obey.
        gone: What those said last that have left.
    """
    silent = len([each for each in guards if each not in found])
    if found:
        if silent:
            yield f"{silent} of {len(guards)} guards did not answer within {waited_s:g} s"
        return
    waited = f" within {waited_s:g} s" if guards or not gone else ""
    yield f"no guard answered{waited}: the command stands until {moment(command.expires_at)}"
    if guards:
        return
    if gone:
        yield (
            f"The last guard of {whom(command)} left at {_last(gone)}: the session has ended, or its "
            "process, so there is no agent to reach."
        )
    else:
        yield (
            f"No guard of {whom(command)} was heard of in the last 10 minutes: a command cannot reach an "
            "agent without one."
        )


def history_lines(
    command: Command, place: tuple[int, int], found: Iterable[GuardAnswer], now: int
) -> Iterator[Line]:
    """Yield the lines of one command in the past, and of what was answered."""
    answers = tuple(found)
    by = f"{printable(command.issuer.name, _LONGEST_ID)} ({printable(command.issuer.kind, 20)})"
    why = printable(command.reason, _LONGEST_TEXT)
    scope = f"{whom(command)}: " if command.is_hold else ""
    head = f"{moment(command.issued_at)}  {scope}{what(command)}, by {by}: {why}  [{place[0]}:{place[1]}]"
    yield Line.of(TextSpan(head, "bold"))
    for answer in answers:
        line = answer_line(command, answer)
        yield Line.of(TextSpan("    "), *line.spans)
    if not answers:
        over = "it has expired" if command.expires_at <= now else "it stands"
        yield Line.of(TextSpan("    "), *_line(CommandPhase.ASKED, f"no guard answered; {over}").spans)


def presence_lines(
    session_id: str, guards: Mapping[Guard, Presence], gone: Collection[Ack], now: int
) -> Iterator[str]:
    """Yield which guards a session has; ``gone`` is what those said last that have left."""
    for (_, guard_id), each in guards.items():
        heard = duration(max(0, now - each.heard_at))
        yield f"guard {guard_name(guard_id, each.guard)}, last heard of {heard} ago"
    if guards:
        return
    why = "none was heard of in the last 10 minutes"
    if gone:
        why = f"the last one left at {_last(gone)}, because the session ended, or its process"
    yield f"{printable(session_id, _LONGEST_ID)} has no guard: {why}, so a pause cannot reach it"


def _last(gone: Iterable[Ack]) -> str:
    """Return when the last of the guards left, and after which event of the agent, if it said so."""
    last = max(gone, key=lambda ack: ack.at)
    when, event = moment(last.at), last.last_event_id
    return when if event is None else f"{when} after event {printable(event, _LONGEST_ID)}"


def guard_name(guard_id: str, facts: GuardFacts | None) -> str:
    """Return how to call a guard: its id, its framework, its version and its machine."""
    name = printable(guard_id, _LONGEST_ID)
    if facts is None:
        return name
    what_it_is = " ".join(printable(each, 60) for each in (facts.integration, facts.version) if each)
    where = f"on {printable(facts.host, 60)}" if facts.host else ""
    about = " ".join(each for each in (what_it_is, where) if each)
    return f"{name}, {about}" if about else name


def moment(at: int) -> str:
    """Return a time with its day, UTC."""
    return f"{day(at)} {clock(at)} UTC".strip()


def fields(
    command: Command, place: tuple[int, int] | None, found: Iterable[GuardAnswer], guards: Collection[Guard]
) -> dict[str, Any]:
    """Return a command and what became of it, for machines."""
    answers = tuple(found)
    return {
        **command.fields(),
        "place": place,
        "state": furthest(answers).replace(" ", "_"),
        "guards": len(guards),
        "answers": [each.ack.fields() for each in answers],
    }


def _line(phase: CommandPhase, said: str) -> Line:
    return Line.of(TextSpan(f"{phase:<{_PHASE_AT}}", _STYLES[phase]), TextSpan(said))
