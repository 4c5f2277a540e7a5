"""One session of a log as its lines come: what waits for the next record, and the calls without a result.

The rules are the same for every log: words go to the first call of their turn, tokens to the next record. A
call becomes a record when its result comes. Calls of one round become records in the order in which they were
asked for: a result that comes early waits for those before it, at most until the next round begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from streams.core.domain.text.clock import UNTIMED
from streams.core.entry import Entry
from streams.formats.adapters.adapter import MOST_OPEN_CALLS, IntakeReason, Problem
from streams.formats.adapters.record import (
    LARGEST_COUNT,
    LONGEST_NAME,
    LONGEST_TEXT,
    LONGEST_WORDS,
    Agent,
    AgentStep,
    argument_text,
    decision_log,
    target,
)
from streams.formats.adapters.user_words import INTERRUPTED, asked

EPOCH_MS: Final = UNTIMED.start
"""Where the count of sources without times starts, ms since 1970."""

_MESSAGES_REMEMBERED: Final = 64


class UserTurn(StrEnum):
    """How a person spoke between two steps."""

    TASK = "task"  # words at the start, or after the agent had ended its turn
    CORRECTION = "correction"  # words while the agent was at work
    APPROVAL = "approval"  # of a call
    REFUSAL = "refusal"  # of a call
    INTERRUPTION = "interruption"


class ContextChange(StrEnum):
    """What was done to the context of a model between two steps."""

    COMPACTED = "compacted"
    RESUMED = "resumed"


class Answered(NamedTuple):
    """The result of a call that waits for those before it in its round."""

    output: str | None
    at: int
    status: str
    signal: str | None
    user_turn: str | None


@dataclass(slots=True)
class Call:
    """A call that waits for its result, or for the results of the calls before it in its round."""

    name: str
    arguments: str | None
    words: str | None = None
    parent: str | None = None
    at: int | None = None
    target: str | None = None
    round_id: str | None = None
    user_turn: str | None = None
    context_change: str | None = None
    answered: Answered | None = None


@dataclass(slots=True)
class Conversation:
    """What is known of a session up to here. Every field is a value of JSON: `frozen` and `thawed` keep it.

    Attributes:
        session_id: id of the session that the lines belong to.
        agent_id, agent_type, version: id, type and version of the agent that acts.
        trace_id: None if it is the session id.
        goal: the first words of the user.
        words: of the assistant, for the next call.
        held_id, held_at: message and time of words that may be the last of their turn.
        tokens: since the last record, without those from a cache; None if the source has reported none.
        cached: tokens read from a cache since the last record.
        total: the newest running sums of the source: tokens, and those from a cache.
        cost: of the session, as the source counts it.
        usage: tokens and cached ones by message, so that one that is repeated counts once.
        calls: by id, those without a result, and those whose result waits for calls before them.
        parent_session_id: the session that started this one, or of which it is a copy.
        user_turn, context_change: of the next record.
        at_work: whether the agent has not ended its turn.
    """

    session_id: str
    agent_id: str
    agent_type: str
    version: str | None = None
    trace_id: str | None = None
    goal: str | None = None
    words: str | None = None
    held_id: str | None = None
    held_at: int = 0
    tokens: int | None = None
    cached: int | None = None
    total: list[int] = field(default_factory=list)
    cost: float | None = None
    usage: dict[str, list[int]] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    parent_session_id: str | None = None
    user_turn: str | None = None
    context_change: str | None = None
    at_work: bool = False

    def ask(self, text: str | None, *, is_person: bool = True) -> None:
        """Take words that stand in a user's place: the first that no program wrote are the goal.

        Args:
            text: The words, None if there are none.
            is_person: Whether a person wrote them, not the agent that started this one.
        """
        if not text:
            return
        if text.lstrip().startswith(INTERRUPTED):
            self.person(UserTurn.INTERRUPTION)
            return
        words = asked(text)
        if words is None:
            return
        if self.goal is None:
            self.goal = words[:LONGEST_TEXT]
        if is_person:
            self.person(UserTurn.CORRECTION if self.at_work else UserTurn.TASK)

    def person(self, turn: UserTurn) -> None:
        """Note that a person spoke. Of several between two steps an act counts more than words."""
        if self.user_turn is None or turn not in (UserTurn.TASK, UserTurn.CORRECTION):
            self.user_turn = turn.value

    def change_context(self, change: ContextChange) -> None:
        """Note what was done to the context before the next step."""
        self.context_change = change.value

    def say(self, text: str | None) -> None:
        """Take words of the assistant, for the next call of the turn."""
        if text and text.strip():
            self.at_work = True
            self.words = text if self.words is None else f"{self.words}\n{text}"[: 2 * LONGEST_WORDS]

    def spend(self, tokens: int | None, message_id: str | None = None, cached: int | None = None) -> None:
        """Count tokens of a model call. A message that is reported again counts once, by its last figure.

        Args:
            tokens: Tokens that were billed in full: without those read from a cache.
            message_id: The message they belong to; None if each report is one of its own.
            cached: Tokens read from a cache.
        """
        if tokens is None and cached is None:
            return
        counts = [min(tokens or 0, LARGEST_COUNT), min(cached or 0, LARGEST_COUNT)]
        known = [0, 0]
        if message_id is not None and len(message_id) <= LONGEST_NAME:
            known = self.usage.pop(message_id, known)
            if known == counts:
                self.usage[message_id] = counts
                return
            if len(self.usage) >= _MESSAGES_REMEMBERED:
                del self.usage[next(iter(self.usage))]
            self.usage[message_id] = counts
        self._add(tokens, counts[0] - known[0], cached, counts[1] - known[1])

    def spend_sum(self, tokens: int | None, cached: int | None = None) -> None:
        """Count tokens by the running sums of the source. A sum that falls has begun again at zero."""
        if tokens is None:
            return
        sums = [min(tokens, LARGEST_COUNT), min(cached or 0, LARGEST_COUNT)]
        known = self.total or [0, 0]
        if sums[0] + sums[1] < known[0] + known[1]:
            known = [0, 0]
        self.total = sums
        self._add(tokens, max(0, sums[0] - known[0]), cached, max(0, sums[1] - known[1]))

    def _add(self, tokens: int | None, more: int, cached: int | None, more_cached: int) -> None:
        if tokens is not None:
            self.tokens = min(max(0, (self.tokens or 0) + more), LARGEST_COUNT)
        if cached is not None:
            self.cached = min(max(0, (self.cached or 0) + more_cached), LARGEST_COUNT)

    def call(
        self,
        call_id: str,
        name: str,
        arguments: Any,
        *,
        parent: str | None = None,
        at: int | None = None,
        round_id: str | None = None,
    ) -> Iterator[Entry | Problem]:
        """Open a call. It takes the words that wait.

        Yields the records that waited for the round before, and a problem if an older call was given up.
        """
        if not 0 < len(call_id) <= LONGEST_NAME:
            said = f"{name[:80]}, a call with an id of {len(call_id):,} characters"
            yield Problem(self.session_id, IntakeReason.UNKNOWN_SHAPE, said)
            return
        round_id = None if round_id is None else round_id[:LONGEST_NAME]
        if self.calls:
            yield from self._released(round_id)
        if call_id not in self.calls and len(self.calls) >= MOST_OPEN_CALLS:
            oldest = next(iter(self.calls))
            yield self._given_up(oldest, self.calls.pop(oldest))
        above = None if parent is None else parent[:LONGEST_NAME]
        # From the arguments as they came: as text they may be cut, and would have to be read again.
        about, text = target(arguments) or "", argument_text(arguments)
        self.calls[call_id] = Call(
            name[:LONGEST_NAME],
            text,
            self.words,
            above,
            at,
            about,
            round_id,
            self.user_turn,
            self.context_change,
        )
        self.words = self.held_id = self.user_turn = self.context_change = None
        self.at_work = True

    def answer(
        self,
        call_id: str,
        output: str | None,
        at: int,
        status: str = "success",
        signal: str | None = None,
        user_turn: UserTurn | None = None,
    ) -> Iterator[Entry | Problem]:
        """Close a call: its record, or a problem if there is no such call.

        Args:
            call_id: The call that this answers.
            output: Its result; None if it was not captured, "" if it was empty.
            at: When the result came, in ms.
            status: `success`, `failure` or `skipped`.
            signal: The agent's own loop stop.
            user_turn: What a person did to this call, such as refusing it.
        """
        call = self.calls.get(call_id)
        if call is None or call.answered is not None:
            yield Problem(self.session_id, IntakeReason.ORPHAN_RESULT, f"no call {call_id[:80]}")
            return
        answered = Answered(output, at, status, signal, None if user_turn is None else user_turn.value)
        if call.round_id is not None and len(self.calls) > 1:
            call.answered = answered
            yield from self._in_order(call.round_id)
            return
        del self.calls[call_id]
        yield self._record(call_id, call, answered)

    def _in_order(self, round_id: str) -> Iterator[Entry]:
        """Yield the records of a round, up to the first call without a result."""
        together = [each for each, other in self.calls.items() if other.round_id == round_id]
        for each in together:
            if (answered := self.calls[each].answered) is None:
                break
            yield self._record(each, self.calls.pop(each), answered)

    def _record(self, call_id: str, call: Call, answered: Answered) -> Entry:
        step = AgentStep(
            event_id=call_id,
            at=answered.at,
            status=answered.status,
            tool=call.name,
            arguments=call.arguments,
            output=answered.output,
            words=call.words,
            parent=call.parent,
            tokens=self.tokens,
            cost=self.cost,
            signal=answered.signal,
            target=call.target,
            round_id=call.round_id,
            user_turn=answered.user_turn or call.user_turn,
            context_change=call.context_change,
            cached=self.cached,
        )
        self.tokens = self.cached = None
        return self._written(step)

    def _released(self, round_id: str | None = None) -> Iterator[Entry]:
        """Yield the records that wait for calls of any other round: that one is over."""
        waiting = [
            (each, call, call.answered)
            for each, call in self.calls.items()
            if call.answered is not None and (round_id is None or call.round_id != round_id)
        ]
        for each, call, answered in waiting:
            del self.calls[each]
            yield self._record(each, call, answered)

    def hold(self, event_id: str, at: int) -> None:
        """Note that the words that wait may be the last ones of the turn: what follows shows it."""
        if self.words is not None:
            self.held_id, self.held_at = event_id, at

    def conclude(self) -> Iterator[Entry]:
        """End a turn whose last words are held."""
        if self.held_id is not None:
            yield from self.finish(self.held_id, self.held_at)

    def finish(self, event_id: str, at: int, status: str = "success") -> Iterator[Entry]:
        """End a turn without a call: a record of the words that wait, if there are any."""
        self.held_id = None
        yield from self._released()
        self.at_work = False
        if self.words is not None:
            words, self.words = self.words, None
            turn, self.user_turn = self.user_turn, None
            change, self.context_change = self.context_change, None
            step = AgentStep(event_id, at, status=status, kind="llm", words=words)
            yield self.entry(step._replace(user_turn=turn, context_change=change))

    def end(self, at: int, *, event_id: str | None = None, error: str | None = None) -> Entry:
        """Return the record that ends the session."""
        status = "success" if error is None else "failure"
        name = f"{self.session_id}/end" if event_id is None else event_id
        return self.entry(AgentStep(name, at, status=status, kind="system", output=error, terminal=True))

    def entry(self, step: AgentStep) -> Entry:
        """Return the record of a step: unless it brings its own, with the tokens that wait and the cost."""
        if step.tokens is None and step.kind != "system":
            step = step._replace(tokens=self.tokens, cost=self.cost, cached=self.cached)
            self.tokens = self.cached = None
        return self._written(step)

    def _written(self, step: AgentStep) -> Entry:
        log = decision_log(
            self.session_id,
            Agent(self.agent_id, self.agent_type, self.version),
            step,
            trace_id=self.trace_id,
            goal=self.goal,
            parent_session_id=self.parent_session_id,
        )
        return Entry(key=log["session_id"], timestamp=None, value=log, raw=None)

    def unanswered(self) -> Iterator[Entry | Problem]:
        """Yield the records that wait, and give up the calls that have no result."""
        for call_id in list(self.calls):
            yield self._given_up(call_id, self.calls.pop(call_id))

    def _given_up(self, call_id: str, call: Call) -> Entry | Problem:
        if call.answered is not None:
            return self._record(call_id, call, call.answered)
        # What a person did before it stands before the next step all the same.
        self.user_turn = self.user_turn or call.user_turn
        self.context_change = self.context_change or call.context_change
        return Problem(self.session_id, IntakeReason.UNANSWERED, f"{call.name[:80]}, call {call_id[:80]}")

    def frozen(self) -> dict[str, Any]:
        """Return it as a value of JSON."""
        frozen = asdict(self)
        for call in frozen["calls"].values():
            call["answered"] = call["answered"] and list(call["answered"])
        return frozen

    @classmethod
    def thawed(cls, value: dict[str, Any]) -> Conversation:
        """Return what `frozen` gave.

        Raises:
            TypeError, KeyError, AttributeError, ValueError: it is something else.
        """
        calls = {}
        for call_id, call in value["calls"].items():
            answered = call["answered"]
            calls[call_id] = Call(**{**call, "answered": answered and Answered(*answered)})
        return cls(**{**value, "calls": calls})
