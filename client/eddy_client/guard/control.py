"""What the commands for one session lead to. Pure: commands, answers and times in; a state and acks out."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from eddy_client.guard.command import Budget, Command, Note
from eddy_client.protocol import HOLDS, LEVELS, Action, OnTimeout, Scope, Status, place

REMEMBERED = 1_000
REMEMBERED_MS = 48 * 3_600_000
SKEW_MS = 30_000


class Answer(NamedTuple):
    """What the guard says of a command.

    Attributes:
        status: a `Status`, as on `session-command-acks`.
        effective_at: when it took effect.
    """

    command: Command
    status: str
    effective_at: int | None = None
    detail: str | None = None


class Outcome(NamedTuple):
    """How a session stands.

    Attributes:
        level: `running`, `paused` or `aborted`.
        until: when that changes by itself, ms since 1970; None if it does not.
        by: the command that paused or aborted it.
        notes: messages that are handed over now, and never again.
        budget: the newest budget, from when it is first raised.
        answers: what is to be acknowledged.
    """

    level: str
    until: int | None
    by: Command | None
    notes: tuple[Note, ...]
    budget: Budget | None
    answers: tuple[Answer, ...]


class State(NamedTuple):
    """How a session stands.

    Attributes:
        level: `running`, `paused` or `aborted`.
        notes: messages that the next check will hand over.
        budget: the newest budget, from when it is first raised.
        heard_s: seconds since the operators' side was last known to be there.
    """

    level: str
    notes: int
    budget: Budget | None
    heard_s: float


class Control:
    """The commands of one session, and what they lead to.

    Of `pause`, `resume` and `abort` the newest of each scope counts: session, agent and all. The session runs
    if none of the three pauses it. After an abort nothing is applied. Nothing is applied twice.

    Args:
        skew: How far the brokers' clock is ahead of ours, ms, as far as that is known.
    """

    def __init__(self, skew: int = 0) -> None:
        self._handled: OrderedDict[str, tuple[Answer, int]] = OrderedDict()
        self._waiting: dict[str, Command] = {}
        #: Messages that came during a pause: they are handed over when it ends.
        self._held: dict[str, Command] = {}
        self._newest: dict[str, tuple[int, int]] = {}
        self._pauses: dict[str, Command] = {}
        self._aborted: Command | None = None
        self._budget: Budget | None = None
        self._given: set[str] = set()
        self._answers: list[Answer] = []
        self._skew = skew
        self._kept: tuple[Note, ...] = ()

    @property
    def is_calm(self) -> bool:
        """Whether a check has nothing to do: nothing waits, nothing pauses, nothing is to be acknowledged."""
        return not (
            self._waiting or self._held or self._pauses or self._aborted or self._answers or self._kept
        )

    @property
    def has_news(self) -> bool:
        """Whether a check would do more than the one before."""
        return bool(self._waiting or self._answers)

    @property
    def budget(self) -> Budget | None:
        """The newest budget."""
        return self._budget

    def keep(self, notes: tuple[Note, ...]) -> None:
        """Keep messages that could not be handed over for the next check."""
        self._kept += notes

    @property
    def notes(self) -> int:
        """How many notes wait."""
        waiting = sum(each.action == Action.INJECT_MESSAGE for each in self._waiting.values())
        return waiting + len(self._held) + len(self._kept)

    def given(self, command_id: str) -> None:
        """Note that a message was handed over before this guard began: it is not given again."""
        self._given.add(command_id)

    def take(self, command: Command, now: int) -> None:
        """Take a command in. It takes effect at the next `check`."""
        self._skew = skewed(command, now, self._skew)
        now += self._skew
        before = self._handled.get(command.command_id)
        if before is not None:
            self._answers.append(before[0])
        elif command.command_id in self._waiting or command.command_id in self._held:
            self._answers.append(Answer(command, Status.RECEIVED))
        elif command.refusal is not None:
            self._settle(Answer(command, Status.REJECTED, detail=command.refusal), now)
        elif not command.is_possible:
            self._settle(
                Answer(command, Status.UNSUPPORTED, detail=f"no {command.action} of {command.scope}"), now
            )
        elif command.action == Action.INJECT_MESSAGE and command.command_id in self._given:
            self._settle(Answer(command, Status.APPLIED, detail="handed over before"), now)
        elif command.expires_at <= now:
            self._pass_over(command, now)
        else:
            self._waiting[command.command_id] = command
            detail = f"the clocks differ by {abs(self._skew) // 1000} s" if self._skew else None
            self._answers.append(Answer(command, Status.RECEIVED, detail=detail))

    def check(self, now: int, *, hands_over: bool = True) -> Outcome:
        """Apply what waits; return how the session stands.

        Args:
            now: ms since 1970.
            hands_over: Whether the agent takes messages now. Otherwise they wait, and are not acknowledged.
        """
        now += self._skew
        for command in sorted(self._waiting.values(), key=place):
            if command.action == Action.INJECT_MESSAGE:
                self._held[command.command_id] = command
            else:
                self._apply(command, now)
        self._waiting.clear()
        self._expire(now)
        standing = self._standing()
        notes = self._handed_over(standing[0], now, hands_over=hands_over)
        answers, self._answers = tuple(self._answers), []
        return Outcome(*standing, tuple(notes), self._budget, answers)

    def peek(self, now: int) -> str:
        """Return the level that a check would find, without applying anything."""
        now += self._skew
        pauses, is_aborted = dict(self._pauses), self._aborted is not None
        for command in sorted(self._waiting.values(), key=place):
            is_newest = place(command) >= self._newest.get(command.scope, (-1, -1))
            is_newest = is_newest and not self._is_superseded(command, now)
            if command.action in LEVELS and command.expires_at > now and is_newest and self._aborted is None:
                pauses[command.scope] = command
                is_aborted = command.action == Action.ABORT if command.scope == Scope.SESSION else is_aborted
        found = [each for each in pauses.values() if each.action == Action.PAUSE]
        if is_aborted or any(_ends(each, now) for each in found):
            return "aborted"
        return "paused" if any(each.expires_at > now for each in found) else "running"

    def _standing(self) -> tuple[str, int | None, Command | None]:
        if self._aborted is not None:
            return "aborted", None, self._aborted
        for scope in Scope:
            if scope in self._pauses:
                until = min(each.expires_at for each in self._pauses.values()) - self._skew
                return "paused", until, self._pauses[scope]
        return "running", None, None

    def _handed_over(self, level: str, now: int, *, hands_over: bool) -> list[Note]:
        """Return the messages for an agent that runs. If it is paused they wait: it may end meanwhile."""
        notes: list[Note] = []
        hands_over = hands_over and level == "running"
        if hands_over:
            notes, self._kept = list(self._kept), ()
        for command in sorted(self._held.values(), key=place):
            if command.expires_at <= now:
                self._settle(Answer(command, Status.EXPIRED), now)
            elif level == "aborted":
                self._settle(Answer(command, Status.SUPERSEDED, detail="the session is aborted"), now)
            elif hands_over:
                notes.append(Note(command.message, command.origin, command.command_id))
                self._settle(Answer(command, Status.APPLIED, now), now)
            else:
                continue
            del self._held[command.command_id]
        return notes

    def _apply(self, command: Command, now: int) -> None:
        if command.expires_at <= now:
            self._pass_over(command, now)
        elif self._aborted is not None:
            self._settle(Answer(command, Status.SUPERSEDED, detail="the session is aborted"), now)
        elif command.action in LEVELS:
            self._level(command, now)
        elif self._is_newest("budget", command, now):
            self._budget = Budget(command.steps_budget, command.tokens_budget)
            self._settle(Answer(command, Status.APPLIED, now), now)

    def _level(self, command: Command, now: int) -> None:
        if self._is_superseded(command, now):
            self._settle(Answer(command, Status.SUPERSEDED), now)
            return
        if not self._is_newest(command.scope, command, now):
            return
        before = self._pauses.pop(command.scope, None)
        if before is not None:
            status = Status.RELEASED if command.action == Action.RESUME else Status.SUPERSEDED
            self._settle(Answer(before, status, now), now)
        if command.action == Action.PAUSE:
            self._pauses[command.scope] = command
        elif command.action == Action.ABORT:
            self._aborted = command
        self._settle(Answer(command, Status.APPLIED, now), now)

    def _is_superseded(self, command: Command, now: int) -> bool:
        """Tell whether a newer level waits. Except for an abort, that its time is over does not matter."""
        return any(
            each.action in (LEVELS if each.expires_at > now else HOLDS)
            and each.scope == command.scope
            and place(each) > place(command)
            for each in self._waiting.values()
        )

    def _pass_over(self, command: Command, now: int) -> None:
        """Give no effect to a command whose time is over.

        What was commanded before it does not come into force again: a guard that begins after the end of a
        `resume` must not pause the agent by the `pause` that it released.
        """
        if command.action in HOLDS:
            self._newest[command.scope] = max(place(command), self._newest.get(command.scope, (-1, -1)))
        self._settle(Answer(command, Status.EXPIRED), now)

    def _is_newest(self, subject: str, command: Command, now: int) -> bool:
        """Tell whether nothing newer about a subject was applied, and note this one as the newest."""
        if place(command) < self._newest.get(subject, (-1, -1)):
            self._settle(Answer(command, Status.SUPERSEDED), now)
            return False
        self._newest[subject] = place(command)
        return True

    def _expire(self, now: int) -> None:
        for scope, command in list(self._pauses.items()):
            if command.expires_at > now:
                continue
            del self._pauses[scope]
            if _ends(command, now):
                self._aborted = command
                self._settle(
                    Answer(command, Status.EXPIRED, now, "the session is aborted, as the command says"), now
                )
            else:
                self._settle(Answer(command, Status.RELEASED, now, "the time of the pause is over"), now)

    def _settle(self, answer: Answer, now: int) -> None:
        first = self._handled.get(answer.command.command_id, (answer, now))
        # A repeat is answered with the first outcome.
        self._handled[answer.command.command_id] = first
        while self._handled:
            _, (_, at) = next(iter(self._handled.items()))
            if len(self._handled) <= REMEMBERED and now - at <= REMEMBERED_MS:
                break
            self._handled.popitem(last=False)
        self._answers.append(answer)


def skewed(command: Command, now: int, before: int = 0) -> int:
    """Return how far the brokers' clock is ahead of ours, ms, by a command that came just now.

    Args:
        command: One that was written while the guard listened; another one tells nothing.
        now: When it came.
        before: What was known before.
    """
    if not (command.is_live and command.written_at):
        return before
    ahead = command.written_at - now
    return ahead if abs(ahead) > SKEW_MS else 0


def _ends(pause: Command, now: int) -> bool:
    """Tell whether a pause is over and ends its session."""
    return pause.expires_at <= now and pause.on_timeout == OnTimeout.ABORT and pause.scope == Scope.SESSION
