"""Commands, the answers of guards, and what both mean for a session at a moment.

A pause is believed if a guard says that it took effect, and checked: records that the agent dates more than
five seconds later show that the session continues.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

import orjson
from eddy_client.protocol import HEADER, LEVELS, MINUTE_MS, PRESENCE, PRESENCE_MS, Action, OnTimeout, Status
from eddy_client.protocol import place as command_place

from streams.console.read_model.place import NOWHERE, Fields, place
from streams.console.read_model.points import Points
from streams.console.read_model.rows import AckRow, CommandRow, GuardRow
from streams.core.domain.run import StoredRecord

#: A guard that missed two times to say that it is there is not.
PRESENT_MS: Final = 2 * PRESENCE_MS

#: After this a command without an answer is said to have none.
ANSWER_MS: Final = 10_000

#: A record that is dated so much later than a pause was under way when it took effect.
GRACE_MS: Final = 5_000

#: A pause that ends so soon needs somebody again: to extend it, or to let it end.
ENDING_MS: Final = 5 * MINUTE_MS

#: What is over is shown for so long.
_OVER_MS: Final = 600_000

_REFUSED: Final = (Status.REJECTED, Status.UNSUPPORTED, Status.FAILED)
_Sent = TypeVar("_Sent", CommandRow, AckRow)


class CommandState(StrEnum):
    """How far a command has come. Members are in the order in which one hides the next."""

    ABORTED = "aborted"
    PAUSED = "paused"
    RECEIVED = "received"
    ASKED = "asked"
    REFUSED = "refused"
    EXPIRED = "expired"
    RELEASED = "released"
    NONE = "none"


_RANK: Final = {state: rank for rank, state in enumerate(CommandState)}


class Counting(StrEnum):
    """How the time since a state began is written."""

    SECONDS = "seconds"
    CLOCK = "counted"


class ControlState(NamedTuple):
    """What control means for a session at a moment.

    Attributes:
        state: how far the command has come.
        since: when it got there, None if there is no command.
        in_effect: guards that did what was asked.
        silent: guards that have not answered.
        guards: guards that are there or have answered.
        after_pause: records that the agent dates later than the pause or abort.
        command_id, action, scope, expires_at, on_timeout: Fields of the command that stands.
    """

    state: CommandState = CommandState.NONE
    since: int | None = None
    in_effect: int = 0
    silent: int = 0
    guards: int = 0
    after_pause: int = 0
    command_id: str | None = None
    action: str | None = None
    scope: str | None = None
    expires_at: int | None = None
    on_timeout: str | None = None

    def ends_soon(self, now: int) -> bool:
        """Tell whether it is a pause that is over in a few minutes unless somebody extends it."""
        if self.state is not CommandState.PAUSED or self.expires_at is None:
            return False
        return now >= self.expires_at - ENDING_MS

    def ends_at(self, now: int) -> int | None:
        """Return the next moment at which the standing command counts differently, None if there is none."""
        if self.expires_at is None:
            return None
        moments = (self.expires_at - ENDING_MS, self.expires_at)
        return min((each for each in moments if each > now), default=None)

    @property
    def continues(self) -> bool:
        """Whether the session continues although it was paused or aborted."""
        return self.after_pause > 0

    @property
    def is_paused(self) -> bool:
        """Whether it stands still: paused or aborted, and no record says otherwise."""
        return self.state in {CommandState.PAUSED, CommandState.ABORTED} and not self.continues

    def label(self, now: int) -> str:
        """Return the words for a row of the inbox.

        >>> ControlState().label(0)
        'no guard'
        >>> ControlState(CommandState.ASKED, 1_000, guards=1, action="pause").label(4_000)
        'pause asked 3 s'
        >>> ControlState(CommandState.PAUSED, 1_000, in_effect=1, guards=1).label(132_000)
        'paused 2:11'
        >>> ControlState(CommandState.PAUSED, 1_000, 1, 0, 1, after_pause=4).label(132_000)
        'goes on after pause: 4 records'
        >>> ControlState(CommandState.PAUSED, 1_000, in_effect=2, silent=1, guards=3).label(132_000)
        '3 guards: 2 paused, 1 silent'
        """
        says, counting = self.words(now)
        if counting is None:
            return says
        waited = self._waited(now)
        return f"{says} {waited // 1000} s" if counting is Counting.SECONDS else f"{says} {_clock(waited)}"

    def words(self, now: int) -> tuple[str, Counting | None]:
        """Return the label without how long it has been so, and how that is written if it belongs to it."""
        if self.after_pause:
            return f"goes on after {self.action or 'pause'}: {_records(self.after_pause)}", None
        match self.state:
            case CommandState.NONE:
                return "" if self.guards else "no guard", None
            case CommandState.ASKED if self._waited(now) >= ANSWER_MS:
                return "no guard answered", None
            case CommandState.ASKED | CommandState.RECEIVED:
                return f"{self.action} {self.state}", Counting.SECONDS
            case CommandState.PAUSED | CommandState.ABORTED if self.in_effect < self.guards:
                rest = self.guards - self.in_effect - self.silent
                words = [(self.in_effect, str(self.state)), (rest, "not yet"), (self.silent, "silent")]
                return f"{self.guards} guards: " + ", ".join(f"{n} {word}" for n, word in words if n), None
            case CommandState.PAUSED:
                return "paused", Counting.CLOCK
            case CommandState.RELEASED:
                return "resumed", None
            case CommandState.EXPIRED | CommandState.REFUSED:
                return f"{self.action} {self.state}", None
            case _:
                return str(self.state), None

    def _waited(self, now: int) -> int:
        return max(0, now - (self.since or now))


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _clock(ms: int) -> str:
    minutes, seconds = divmod(ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def command_of(fields: Fields, source: StoredRecord) -> CommandRow:
    """Return a record of session-commands as a row."""
    return CommandRow(
        command_id=fields["command_id"],
        session_id=fields["session_id"] if fields["scope"] == "session" else None,
        action=fields["action"],
        issued_at=fields["issued_at"],
        expires_at=fields["expires_at"],
        issuer=fields["issuer"]["name"],
        reason=fields["reason"],
        body=orjson.dumps(dict(fields)).decode(),
        partition=source.partition,
        offset=source.offset,
        scope=fields["scope"],
        agent_id=fields.get("agent_id"),
        on_timeout=fields.get("on_timeout"),
        ts=source.timestamp,
        value=source.value or b"",
        mac=next((content for name, content in source.headers if name == HEADER), None),
    )


def ack_of(fields: Fields, source: StoredRecord) -> AckRow | None:
    """Return a record of session-command-acks as a row, None if it says only that a guard is there."""
    command_id = fields.get("command_id")
    if command_id is None:
        return None
    return AckRow(
        id=fields["id"],
        command_id=command_id,
        guard_id=fields["guard_id"],
        status=fields["status"],
        at=fields["at"],
        body=orjson.dumps(dict(fields)).decode(),
        session_id=fields["session_id"],
        effective_at=fields.get("effective_at"),
        partition=source.partition,
        offset=source.offset,
    )


def guard_of(fields: Fields, source: StoredRecord) -> GuardRow:
    """Return what a record of session-command-acks says of the presence of its guard."""
    facts = fields.get("guard") or {}
    return GuardRow(
        session_id=fields["session_id"],
        guard_id=fields["guard_id"],
        seen=fields["at"],
        integration=facts.get("integration"),
        version=facts.get("version"),
        detached=int(fields["status"] == "detached"),
        place=place(source.partition, source.offset),
    )


def merged_guards(one: GuardRow, other: GuardRow) -> GuardRow:
    """Return what two rows of one guard say together. Its facts never change, but not each ack has them."""
    newest = max(one, other, key=lambda row: row.place)
    return newest._replace(
        seen=max(one.seen, other.seen),
        integration=max(one.integration or "", other.integration or "") or None,
        version=max(one.version or "", other.version or "") or None,
    )


def first_of(one: _Sent, other: _Sent) -> _Sent:
    """Return the one that came first: a guard acts on a command once, and repeats its first answer."""
    return min(one, other, key=command_place)


def newest_level(commands: Iterable[CommandRow]) -> CommandRow | None:
    """Return the command that gives the level: the newest pause, resume or abort."""
    levels = [each for each in commands if each.action in LEVELS]
    return max(levels, key=command_place, default=None)


Acks = Mapping[str, Sequence[AckRow]]
"""The acks of a session, by command."""


_OVER: Final = frozenset({CommandState.RELEASED, CommandState.EXPIRED, CommandState.REFUSED})


def forgotten_at(control: ControlState) -> int | None:
    """Return when what is over is shown no more, None as long as it is not over."""
    if control.state not in _OVER or control.since is None:
        return None
    return control.since + _OVER_MS + 1


def control_of(
    scopes: Iterable[Sequence[CommandRow]],
    acks: Acks,
    guards: Iterable[GuardRow],
    points: Points,
    now: int,
) -> ControlState:
    """Return what control means for a session.

    Args:
        scopes: the commands of each scope that reaches it: its own, its agent's, everybody's.
        acks: what guards of this session said, by command.
        guards: Guards that are connected to it.
        points: Newest records of the session.
        now: the moment, in ms.
    """
    there = {each.guard_id for each in guards if not each.detached and each.seen > now - PRESENT_MS}
    states = [
        _state(commands, level, acks, there, points, now)
        for commands in scopes
        if (level := newest_level(commands)) is not None
    ]
    best = min(states, key=lambda state: _RANK[state.state], default=ControlState())
    if best.state is CommandState.NONE:
        return ControlState(guards=len(there))
    return best


def _state(
    commands: Sequence[CommandRow],
    level: CommandRow,
    acks: Acks,
    there: set[str],
    points: Points,
    now: int,
) -> ControlState:
    for each in commands:
        if each.action == Action.ABORT and _by_status(acks, each)[Status.APPLIED]:
            level = each
            break
    by_status = _by_status(acks, level)
    answered = {guard for guards in by_status.values() for guard in guards}
    state, since = _progress(commands, level, acks, by_status, now)
    if state in _OVER and now - since > _OVER_MS:
        return ControlState()
    in_effect = set(by_status[Status.APPLIED]) - set(by_status[Status.RELEASED])
    stops = state in {CommandState.PAUSED, CommandState.ABORTED}
    return ControlState(
        state=state,
        since=since,
        in_effect=len(in_effect) if stops or state is CommandState.RELEASED else 0,
        silent=len(there - answered),
        guards=len(there | answered),
        after_pause=points.after(since + GRACE_MS) if stops else 0,
        command_id=level.command_id,
        action=level.action,
        scope=level.scope,
        expires_at=level.expires_at,
        on_timeout=level.on_timeout,
    )


def resumed_at(scopes: Iterable[Sequence[CommandRow]], now: int) -> int | None:
    """Return when the session was last let go on: its newest pause was released, or its time was over.

    Args:
        scopes: commands of each scope that reaches the session.
        now: the moment, in ms.
    """
    levels = [level for commands in scopes if (level := newest_level(commands)) is not None]
    moments = [each.ts for each in levels if each.action == Action.RESUME]
    moments += [each.expires_at for each in levels if each.action == Action.PAUSE and each.expires_at <= now]
    return max(moments, default=None)


def _progress(
    commands: Sequence[CommandRow], level: CommandRow, acks: Acks, by_status: _ByStatus, now: int
) -> tuple[CommandState, int]:
    if level.action == Action.RESUME:
        reached = _resumed(commands, level, acks, by_status)
    elif level.action == Action.ABORT:
        applied = by_status[Status.APPLIED].values()
        reached = (CommandState.ABORTED, max(applied)) if applied else None
    else:
        reached = _paused(level, by_status, now)
    if reached is not None:
        return reached
    if now >= level.expires_at:
        return CommandState.EXPIRED, level.expires_at
    if by_status[Status.RECEIVED]:
        return CommandState.RECEIVED, max(by_status[Status.RECEIVED].values())
    refused = [at for status in _REFUSED for at in by_status[status].values()]
    return (CommandState.REFUSED, max(refused)) if refused else (CommandState.ASKED, level.ts)


def _paused(level: CommandRow, by_status: _ByStatus, now: int) -> tuple[CommandState, int] | None:
    applied, released = by_status[Status.APPLIED], by_status[Status.RELEASED]
    if now >= level.expires_at:
        ends = level.on_timeout == OnTimeout.ABORT and applied
        return (CommandState.ABORTED if ends else CommandState.EXPIRED), level.expires_at
    if standing := [at for guard, at in applied.items() if guard not in released]:
        return CommandState.PAUSED, max(standing)
    return (CommandState.RELEASED, max(released.values())) if released else None


def _resumed(
    commands: Sequence[CommandRow], level: CommandRow, acks: Acks, by_status: _ByStatus
) -> tuple[CommandState, int] | None:
    done = [*by_status[Status.APPLIED].values(), *by_status[Status.RELEASED].values()]
    pauses = sorted((each for each in commands if each.action == Action.PAUSE), key=command_place)
    stopped = [found for each in pauses if (found := _by_status(acks, each))[Status.APPLIED]]
    if stopped:
        done += stopped[-1][Status.RELEASED].values()
    if done or not stopped:
        return CommandState.RELEASED, max(done, default=level.ts)
    return None


_ByStatus = Mapping[str, Mapping[str, int]]
_STATUSES: Final = frozenset(Status) - PRESENCE - {Status.EXPIRED}


def _by_status(acks: Acks, command: CommandRow) -> dict[str, dict[str, int]]:
    """Return, by status, the guards that gave it and when it took effect."""
    found: dict[str, dict[str, int]] = {status: {} for status in _STATUSES}
    for ack in acks.get(command.command_id, ()):
        if ack.status in found:
            at = ack.at if ack.effective_at is None else ack.effective_at
            found[ack.status][ack.guard_id] = at
    return found


def watched_until(commands: Iterable[CommandRow]) -> int:
    """Return until when the records of a session are read because of its commands."""
    return max((each.expires_at + _OVER_MS for each in commands), default=NOWHERE)


class Hold(NamedTuple):
    """A hold in force: the red bar of each page."""

    scope: str
    agent_id: str | None
    command_id: str
    by: str
    why: str
    since: int
    until: int
    holding: int
    guards: int


def hold_of(
    commands: Iterable[CommandRow], acks: Sequence[AckRow], present: Iterable[GuardRow], now: int
) -> Hold | None:
    """Return the hold that the commands of one agent, or of everything, add up to; None if it is over.

    Args:
        commands: those of this scope.
        acks: of the newest of them, of all sessions.
        present: guards of the sessions that it reaches.
        now: the moment, in ms.
    """
    level = newest_level(commands)
    if level is None or level.action != "pause" or now >= level.expires_at:
        return None
    holding = {(ack.session_id, ack.guard_id) for ack in acks if ack.status == "applied"}
    holding -= {(ack.session_id, ack.guard_id) for ack in acks if ack.status == "released"}
    there = {
        (each.session_id, each.guard_id)
        for each in present
        if not each.detached and each.seen > now - PRESENT_MS
    }
    return Hold(
        scope=level.scope,
        agent_id=level.agent_id,
        command_id=level.command_id,
        by=level.issuer,
        why=level.reason,
        since=level.ts,
        until=level.expires_at,
        holding=len(holding),
        guards=len(there | holding),
    )
