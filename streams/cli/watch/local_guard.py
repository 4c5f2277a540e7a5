"""The guard of the agents of this machine: what was commanded, and what a hook of each has to answer.

It is the guard of `eddy_client` without its thread and its channel: the same rules of commands, and the same
answers to them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from eddy_client.guard.ack import ack_of
from eddy_client.guard.command import Command
from eddy_client.guard.control import Answer, Control, Outcome
from eddy_client.protocol import LONGEST_MS, PRESENCE_MS, Action, Status, standing

GUARD_ID: Final = "eddy-watch"
MOST_SESSIONS: Final = 2_000
"""Sessions that are held: those whose hooks have run last. Another one begins again by what stands."""

_MOST_GIVEN: Final = 10_000
_LONGEST_WAIT_S: Final = 1.0


@dataclass(slots=True)
class HookedSession:
    """A session whose hooks ask."""

    session_id: str
    agent_id: str | None
    integration: str
    control: Control = field(default_factory=Control)
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    attached_at: int | None = None
    last_event_id: str | None = None
    checkpoint: str | None = None
    undelivered: tuple[Answer, ...] = ()


class LocalGuard:
    """Holds what was commanded, and answers for the sessions of this machine.

    Args:
        acknowledge: Takes an answer, as a record of `session-command-acks`.
        clock: Returns the time in milliseconds since 1970.
    """

    def __init__(self, acknowledge: Callable[[dict[str, Any]], None], clock: Callable[[], int]) -> None:
        self._acknowledge, self._clock = acknowledge, clock
        self._commands: dict[str, Command] = {}
        #: Notes that were handed over, by session and command.
        self._given: dict[tuple[str, str], None] = {}
        self._sessions: dict[str, HookedSession] = {}

    def command(self, fields: Mapping[str, Any], offset: int) -> None:
        """Take a command in.

        Args:
            fields: Value of a record of `session-commands`.
            offset: Where it stands, which orders commands.
        """
        try:
            command = Command.of(fields, offset=offset)
        except ValueError:
            return
        now = self._clock()
        for name in [name for name, each in self._commands.items() if each.expires_at < now - LONGEST_MS]:
            del self._commands[name]
        self._commands[command.command_id] = command
        for session in self._sessions.values():
            if command.concerns(session.session_id, session.agent_id):
                session.control.take(command, now)
                session.woken.set()

    def answered(self, fields: Mapping[str, Any]) -> None:
        """Take in an answer, perhaps of an earlier watch: a note that was handed over is not given again.

        Args:
            fields: Value of a record of `session-command-acks`.
        """
        match fields:
            case {"status": Status.APPLIED, "command_id": str(command_id), "session_id": str(session_id)}:
                self._given[session_id, command_id] = None
                if len(self._given) > _MOST_GIVEN:
                    del self._given[next(iter(self._given))]

    def session(self, session_id: str, agent_id: str, integration: str) -> HookedSession:
        """Return a session, a new one if its hook runs for the first time."""
        found = self._sessions.pop(session_id, None)
        now = self._clock()
        if found is None:
            found = HookedSession(session_id, agent_id, integration)
            concerned = [each for each in self._commands.values() if each.concerns(session_id, agent_id)]
            for command in standing(concerned, now):
                if (session_id, command.command_id) in self._given:
                    found.control.given(command.command_id)
                found.control.take(command, now)
            if len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
        self._sessions[session_id] = found
        if found.attached_at is None or now - found.attached_at >= PRESENCE_MS:
            found.attached_at = now
            self._say(found, Status.ATTACHED, None, now)
        return found

    def holds(self, session_id: str) -> bool:
        """Tell whether a hook of a session has asked."""
        return session_id in self._sessions

    def check(self, session: HookedSession, *, hands_over: bool) -> Outcome:
        """Return how a session stands now.

        Notes that it hands over are acknowledged by `delivered`, once the hook has them, or are given back by
        `lost`. The answers of the outcome are those that this leaves.
        """
        now = self._clock()
        outcome = session.control.check(now, hands_over=hands_over)
        notes, others = [*session.undelivered], list[Answer]()
        for answer in outcome.answers:
            is_note = answer.status == Status.APPLIED and answer.command.action == Action.INJECT_MESSAGE
            (notes if is_note else others).append(answer)
        for answer in others:
            self._say(session, answer.status, answer, now)
        session.undelivered = () if outcome.notes else tuple(notes)
        return outcome._replace(answers=tuple(notes) if outcome.notes else ())

    def delivered(self, session: HookedSession, outcome: Outcome) -> None:
        """Acknowledge the notes of an outcome: the hook has them."""
        for answer in outcome.answers:
            self._say(session, answer.status, answer, self._clock())

    def lost(self, session: HookedSession, outcome: Outcome) -> None:
        """Take the notes of an outcome back: no hook got them, and the next one does."""
        session.control.keep(outcome.notes)
        session.undelivered = (*session.undelivered, *outcome.answers)

    async def wait(
        self, session: HookedSession, within: float, waits: Callable[[], None], *, hands_over: bool
    ) -> Outcome:
        """Return how a session stands once it is not paused, or after so many seconds.

        Args:
            session: Session whose hook asks.
            within: Seconds that the hook has.
            waits: Called once if it has to wait.
            hands_over: Whether its model reads what this hook prints.
        """
        loop = asyncio.get_running_loop()
        until, is_told = loop.time() + within, False
        while True:
            session.woken.clear()
            outcome = self.check(session, hands_over=hands_over)
            left = until - loop.time()
            if outcome.level != "paused" or left <= 0:
                return outcome
            if not is_told:
                is_told = True
                waits()
            try:
                async with asyncio.timeout(min(left, _LONGEST_WAIT_S)):
                    await session.woken.wait()
            except TimeoutError:
                continue

    def _say(self, session: HookedSession, status: str, answer: Answer | None, now: int) -> None:
        self._acknowledge(ack_of(GUARD_ID, session, status, answer, now))
