"""One session of a log as its lines come: what waits for the next record, and the calls without a result.

The rules are the same for every log: words go to the first call of their turn, tokens to the next record. A
call becomes a record when its result comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from streams.sources.adapters.adapter import MOST_OPEN_CALLS, Problem, Reason
from streams.sources.adapters.record import (
    LARGEST_COUNT,
    LONGEST_NAME,
    LONGEST_TEXT,
    LONGEST_WORDS,
    Agent,
    Step,
    argument_text,
    decision_log,
    target,
)
from streams.sources.entry import Entry

EPOCH_MS: Final = 1_700_000_000_000
"""Start of the made-up clock of sources without times, ms since 1970 (2023-11-14)."""

_MESSAGES_REMEMBERED: Final = 64


@dataclass(slots=True)
class Call:
    """A call that waits for its result."""

    name: str
    arguments: str | None
    words: str | None = None
    parent: str | None = None
    at: int | None = None
    target: str | None = None


@dataclass(slots=True)
class Conversation:
    """What is known of a session up to here. Every field is a value of JSON: `frozen` and `thawed` keep it.

    Attributes:
        session_id: whose.
        agent_id, agent_type, version: who acts.
        trace_id: None if it is the session id.
        goal: the first words of the user.
        words: of the assistant, for the next call.
        held_id, held_at: message and time of words that may be the last of their turn.
        tokens: since the last record; None if the source has reported none.
        cost: of the session, as the source counts it.
        usage: tokens by message, so that one that is repeated counts once.
        calls: by id, those without a result.
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
    cost: float | None = None
    usage: dict[str, int] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)

    def ask(self, text: str | None) -> None:
        """Take words of the user: the first ones are the goal."""
        if text and self.goal is None:
            self.goal = text[:LONGEST_TEXT]

    def say(self, text: str | None) -> None:
        """Take words of the assistant, for the next call of the turn."""
        if text and text.strip():
            self.words = text if self.words is None else f"{self.words}\n{text}"[: 2 * LONGEST_WORDS]

    def spend(self, tokens: int | None, message_id: str | None = None) -> None:
        """Count tokens of a model call. A message that is reported again counts once, by its last figure."""
        if tokens is None:
            return
        tokens = min(tokens, LARGEST_COUNT)
        if message_id is not None and len(message_id) <= LONGEST_NAME:
            known = self.usage.pop(message_id, 0)
            if len(self.usage) >= _MESSAGES_REMEMBERED:
                del self.usage[next(iter(self.usage))]
            self.usage[message_id] = tokens
            tokens -= known
        self.tokens = min((self.tokens or 0) + tokens, LARGEST_COUNT)

    def call(
        self,
        call_id: str,
        name: str,
        arguments: Any,
        *,
        parent: str | None = None,
        at: int | None = None,
    ) -> Iterator[Problem]:
        """Open a call. It takes the words that wait. Yields a problem if an older call had to be given up."""
        if not 0 < len(call_id) <= LONGEST_NAME:
            said = f"{name[:80]}, a call with an id of {len(call_id):,} characters"
            yield Problem(self.session_id, Reason.UNKNOWN_SHAPE, said)
            return
        if call_id not in self.calls and len(self.calls) >= MOST_OPEN_CALLS:
            oldest = next(iter(self.calls))
            yield _unanswered(self, oldest, self.calls.pop(oldest))
        above = None if parent is None else parent[:LONGEST_NAME]
        # From the arguments as they came: as text they may be cut, and would have to be read again.
        about, text = target(arguments) or "", argument_text(arguments)
        self.calls[call_id] = Call(name[:LONGEST_NAME], text, self.words, above, at, about)
        self.words = self.held_id = None

    def answer(
        self,
        call_id: str,
        output: str | None,
        at: int,
        status: str = "success",
        signal: str | None = None,
    ) -> Iterator[Entry | Problem]:
        """Close a call: its record, or a problem if there is no such call."""
        call = self.calls.pop(call_id, None)
        if call is None:
            yield Problem(self.session_id, Reason.ORPHAN_RESULT, f"no call {call_id[:80]}")
            return
        yield self.entry(
            Step(
                event_id=call_id,
                at=at,
                status=status,
                tool=call.name,
                arguments=call.arguments,
                output=output,
                words=call.words,
                parent=call.parent,
                signal=signal,
                target=call.target,
            )
        )

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
        if self.words is not None:
            words, self.words = self.words, None
            yield self.entry(Step(event_id, at, status=status, kind="llm", words=words))

    def end(self, at: int, *, event_id: str | None = None, error: str | None = None) -> Entry:
        """Return the record that ends the session."""
        status = "success" if error is None else "failure"
        name = f"{self.session_id}/end" if event_id is None else event_id
        return self.entry(Step(name, at, status=status, kind="system", output=error, terminal=True))

    def entry(self, step: Step) -> Entry:
        """Return the record of a step: unless it brings its own, with the tokens that wait and the cost."""
        if step.tokens is None and step.kind != "system":
            step, self.tokens = step._replace(tokens=self.tokens, cost=self.cost), None
        agent = Agent(self.agent_id, self.agent_type, self.version)
        log = decision_log(self.session_id, agent, step, trace_id=self.trace_id, goal=self.goal)
        return Entry(key=log["session_id"], timestamp=None, value=log, raw=None)

    def unanswered(self) -> Iterator[Problem]:
        """Give up the calls that have no result."""
        for call_id, call in self.calls.items():
            yield _unanswered(self, call_id, call)
        self.calls.clear()

    def frozen(self) -> dict[str, Any]:
        """Return it as a value of JSON."""
        return asdict(self)

    @classmethod
    def thawed(cls, value: dict[str, Any]) -> Conversation:
        """Return what `frozen` gave.

        Raises:
            TypeError, KeyError, AttributeError, ValueError: it is something else.
        """
        calls = {call_id: Call(**call) for call_id, call in value["calls"].items()}
        return cls(**{**value, "calls": calls})


def _unanswered(conversation: Conversation, call_id: str, call: Call) -> Problem:
    return Problem(conversation.session_id, Reason.UNANSWERED, f"{call.name[:80]}, call {call_id[:80]}")
