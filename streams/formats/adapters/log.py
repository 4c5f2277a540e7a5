"""What adapters of logs share: the decoding of a unit, one conversation per session, and the state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar, Final, Self

import orjson

from streams.core.entry import Entry
from streams.formats.adapters.adapter import (
    LONGEST_UNIT,
    MOST_OPEN_CALLS,
    IntakeReason,
    Problem,
    ReasonCounts,
)
from streams.formats.adapters.conversation import EPOCH_MS, Conversation
from streams.formats.adapters.record import LONGEST_NAME, UNDECODABLE, decoded, milliseconds

MOST_SESSIONS: Final = 10_000
"""Sessions of one input that are held. The calls of the oldest of more are reported as unanswered."""

Found = Iterator[Entry | Problem]


class LogAdapter(ABC):
    """An adapter whose units are JSON objects. A format implements `read`, and `opened` for a new session.

    Attributes:
        name: of the input, for problems and for sessions that have no id of their own.
        ignored: what was left out by design, by type.
        conversations: by session, the one that was used last at the end.
        memory: what else a format keeps between units; values of JSON only.
    """

    version: ClassVar[int] = 2
    """The version of the state. A state of another version is not resumed."""

    left_out: ClassVar[frozenset[str]] = frozenset()
    """Types of lines that say nothing of a step, whatever else they hold."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ignored: Counter[str] = ReasonCounts()
        self.conversations: dict[str, Conversation] = {}
        self.memory: dict[str, Any] = {}
        self._given_up: list[Entry | Problem] = []
        self._open_calls = 0
        self._used: dict[str, int] = {}
        self._newest: Conversation | None = None

    @abstractmethod
    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one object completes."""

    def feed(self, unit: bytes) -> Found:
        """Yield what one unit completes."""
        if len(unit) > LONGEST_UNIT:
            yield Problem(self.name, IntakeReason.UNREADABLE, f"{len(unit):,} bytes: longer than is read")
            return
        value = decoded(unit)
        if value is UNDECODABLE:
            yield Problem(self.name, IntakeReason.UNREADABLE, "not JSON")
        elif isinstance(value, dict):
            kind = value.get("type")
            if type(kind) is str and kind in self.left_out:  # most lines of some logs
                self.ignored[f"type {kind}"] += 1
                return
            yield from self.read(value)
            if self._used:  # else the line was of no session
                self._count_open_calls()
                if self._given_up or self._open_calls > MOST_OPEN_CALLS:
                    yield from self.given_up()
        else:
            yield Problem(self.name, IntakeReason.UNKNOWN_SHAPE, "not an object")

    def given_up(self) -> Found:
        """Yield the calls that were given up at this unit: those of the session that was used longest ago."""
        self._count_open_calls()
        while self._open_calls > MOST_OPEN_CALLS:
            oldest = next(each for each in self.conversations.values() if each.calls)
            self._open_calls -= len(oldest.calls)
            self._given_up.extend(oldest.unanswered())
        yield from self._given_up
        self._given_up.clear()

    def _count_open_calls(self) -> None:
        for session_id, calls in self._used.items():
            self._open_calls += len(self.conversations[session_id].calls) - calls
        self._used.clear()

    def close(self) -> Found:
        """Yield the words that end a last turn, and the calls without a result."""
        for conversation in self.conversations.values():
            yield from conversation.conclude()
            yield from conversation.unanswered()

    def conversation(self, session_id: str, agent_id: str, agent_type: str | None = None) -> Conversation:
        """Return the conversation of a session, a new one if it has none."""
        session_id = session_id[:LONGEST_NAME]
        newest = self._newest
        if newest is not None and newest.session_id == session_id:  # as nearly always
            self._used.setdefault(session_id, len(newest.calls))
            return newest
        found = self.conversations.pop(session_id, None)
        if found is None:
            found = Conversation(session_id, agent_id, agent_type or agent_id)
            if len(self.conversations) >= MOST_SESSIONS:
                oldest = self.conversations.pop(next(iter(self.conversations)))
                self._open_calls -= self._used.pop(oldest.session_id, len(oldest.calls))
                self._given_up.extend(oldest.unanswered())
        self._used.setdefault(session_id, len(found.calls))
        self.conversations[session_id] = self._newest = found
        return found

    def time_of(self, *given: Any) -> int:
        """Return the first of these that is a time, in ms; the latest time known if none is."""
        for each in given:
            found = milliseconds(each)
            if found is not None:
                self.memory["at"] = found
                return found
        latest: int = self.memory.get("at", EPOCH_MS)
        return latest

    def unknown(self, where: str, detail: str) -> Problem:
        """Return the problem of a shape that the format does not have."""
        return Problem(where, IntakeReason.UNKNOWN_SHAPE, detail[:200])

    def state(self) -> bytes:
        """Return everything that later units need."""
        return orjson.dumps(
            {
                "version": self.version,
                "ignored": self.ignored,
                "memory": self.memory,
                "conversations": [each.frozen() for each in self.conversations.values()],
            }
        )

    @classmethod
    def resume(cls, name: str, state: bytes) -> Self:
        """Return the adapter that `state` described; a new one if it is not a state of this version."""
        adapter = cls(name)
        try:
            value = orjson.loads(state)
            if value["version"] == cls.version:
                held = [Conversation.thawed(each) for each in value["conversations"]]
                adapter.conversations = {each.session_id: each for each in held}
                adapter._open_calls = sum(len(each.calls) for each in held)
                adapter.ignored = ReasonCounts(value["ignored"])
                adapter.memory = dict(value["memory"])
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls(name)
        return adapter
