"""A session of an agent, and its steps."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Literal, NamedTuple

from eddy_client.texts import LONGEST_NAME, bounded

if TYPE_CHECKING:
    from eddy_client.eddy import Eddy

UserTurn = Literal["task", "correction", "approval", "refusal", "interruption"]
"""How a person spoke between two steps."""

_CANCELLED = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)


class Pending(NamedTuple):
    """What goes with the next record of a session."""

    tokens: int | None
    cached: int | None
    cost: float | None
    words: object
    user_turn: str | None
    context_change: str | None


class Session:
    """One task of an agent. Nothing here raises, waits, or changes what the agent does.

    Made by `Eddy.session`. As a block it ends the session: an agent that continues it later calls the methods
    without a block.
    """

    def __init__(
        self,
        eddy: Eddy,
        session_id: str,
        goal: object,
        task_type: object,
        parent_session_id: str | None = None,
    ) -> None:
        self._eddy = eddy
        self.session_id = session_id
        self.parent_session_id = parent_session_id
        self._goal = goal
        self._task_type = task_type
        self._tokens: int | None = None
        self._cached: int | None = None
        self._round_id: str | None = None
        self._user_turn: str | None = None
        self._context_change: str | None = None
        self._cost: float | None = None
        self._words: object = None

    def tool(
        self, name: str, arguments: object = None, *, intent: object = None, target: str | None = None
    ) -> Step:
        """Return a step, to be used as a block around the call of a tool.

        Args:
            name: The tool.
            arguments: As the agent calls it with, text or anything that JSON can hold.
            intent: Why, in the agent's words; by default what it said last, else the tool and its arguments.
            target: The file or thing it is about; by default found in the arguments.
        """
        return Step(self, name, arguments, intent, target)

    @contextmanager
    def round(self, round_id: str | None = None) -> Iterator[None]:
        """Mark the calls inside as decided together, by one message of the model.

        Args:
            round_id: The id of the message; by default one that no other round has.
        """
        before, self._round_id = self._round_id, round_id or uuid.uuid4().hex
        try:
            yield
        finally:
            self._round_id = before

    @property
    def round_id(self) -> str | None:
        """The round that is open, None outside of one."""
        return self._round_id

    def user(self, turn: UserTurn) -> None:
        """Take note that a person spoke; it goes with the next record."""
        self._user_turn = bounded(turn, LONGEST_NAME).text

    def compacted(self) -> None:
        """Take note that the context was compacted; it goes with the next record."""
        self._context_change = "compacted"

    def resumed(self) -> None:
        """Take note that the session was resumed; it goes with the next record."""
        self._context_change = "resumed"

    def said(self, words: str) -> None:
        """Take note of what the agent said before its next call."""
        self._words = words

    def answer(self, words: str) -> None:
        """Send a turn that ended without a call of a tool."""
        self._eddy._send(self, kind="llm", status="success", intent=words)  # noqa: SLF001 - one module apart

    def tokens(self, count: int, *, cached: int = 0) -> None:
        """Take note of tokens that a model call took; they go with the next record.

        Args:
            count: Tokens that are billed in full.
            cached: Tokens that the model read from its cache, not counted above.
        """
        if _is_number(count):
            self._tokens = (self._tokens or 0) + int(count)
        if cached and _is_number(cached):
            self._cached = (self._cached or 0) + int(cached)

    def cost(self, total: float) -> None:
        """Take note of what the session has cost so far, in your currency."""
        if _is_number(total):
            self._cost = float(total)

    def end(self, *, failed: bool = False) -> None:
        """Send the end of the session."""
        self._eddy._send(  # noqa: SLF001 - one module apart
            self, kind="system", status="failure" if failed else "success", terminal=True
        )

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, trace
        self.end(failed=error is not None)

    def pending(self) -> Pending:
        """Return what goes with the next record, and forget all of it but the cost."""
        found = Pending(
            self._tokens, self._cached, self._cost, self._words, self._user_turn, self._context_change
        )
        self._tokens = self._cached = self._words = self._user_turn = self._context_change = None
        return found

    def restore(self, pending: Pending) -> None:
        """Take back what a record that was dropped had with it, but its words."""
        if pending.tokens is not None:
            self.tokens(pending.tokens)
        if pending.cached is not None:
            self._cached = (self._cached or 0) + pending.cached
        self._user_turn = self._user_turn or pending.user_turn
        self._context_change = self._context_change or pending.context_change

    @property
    def goal(self) -> object:
        """What the session is for."""
        return self._goal

    @property
    def task_type(self) -> object:
        """Which kind of task it is."""
        return self._task_type


class Step:
    """The call of a tool. Set `result` inside the block.

    An exception inside is a failure with its text, and raised again. A cancellation is a skipped step.
    """

    def __init__(
        self, session: Session, name: str, arguments: object, intent: object, target: str | None
    ) -> None:
        self._session = session
        self._name = name
        # Now: the agent may change them meanwhile.
        self._arguments = arguments if arguments is None else bounded(arguments)
        self._given = arguments
        self._intent = intent
        self._target = target
        self._round_id = session.round_id
        self._status: str | None = None
        self.result: object = None

    def failed(self, result: object = None) -> None:
        """Mark the call as failed, where the tool reports that without an exception."""
        self._status = "failure"
        if result is not None:
            self.result = result

    def skipped(self) -> None:
        """Mark the call as one that was not carried out."""
        self._status = "skipped"

    def __enter__(self) -> Step:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, trace
        status, result = self._status or "success", self.result
        if error is not None:
            status = "skipped" if isinstance(error, _CANCELLED) else "failure"
            result = _told(error) if result is None else result
        self._session._eddy._send(  # noqa: SLF001 - one module apart
            self._session,
            kind="tool",
            status=status,
            tool=self._name,
            arguments=self._arguments,
            given=self._given,
            intent=self._intent,
            target=self._target,
            output=result,
            round_id=self._round_id,
        )


def _told(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - an exception of the agent's own may raise another
        return type(error).__name__


def _is_number(value: object) -> bool:
    """Tell whether a count can be sent: what an agent hands over may be anything, and not a number."""
    return isinstance(value, int | float) and 0 <= value < 2**53
