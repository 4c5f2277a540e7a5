"""What two settings documents, A and B, made of a session: what differs, the loops, the alerts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.outcome import Scored
from streams.core.policy.comparison import Difference, DifferenceKind, Outcome, difference


class FoundBy(StrEnum):
    """Who found a loop in a session."""

    BOTH = "both"
    ONLY_A = "a"
    ONLY_B = "b"
    NEITHER = "neither"


class Detection(NamedTuple):
    """The first time that a session was said to be in a loop.

    ``record`` counts the session's records from 1, ``offset`` is that of the record, ``rule`` as in
    specification 6.5.
    """

    record: int
    offset: int
    rule: str


@dataclass(slots=True)
class PublishedSide:
    """What was published about a session under one of the documents.

    ``alerts`` counts by rule, named as in specification 4.3; what says that an episode is over is no alert.
    """

    alerts: Counter[str] = field(default_factory=Counter)
    loop: Detection | None = None

    def add(self, record: int, outcome: Outcome) -> None:
        """Take in what became of the session's record of that number."""
        if not isinstance(outcome, Scored):
            return
        for event in outcome.events:
            rule = None if event.topic is None else alert_rule(event.fields)
            if rule is not None:
                self.alerts[rule] += 1
                if self.loop is None and _says_loop(event.fields):
                    self.loop = Detection(record, outcome.decision.offset, rule)


@dataclass(slots=True)
class SessionComparison:
    """The records of one session, judged under A and under B.

    ``kinds`` counts the records that differ, by what differs; one record may differ in several.
    """

    partition: int
    session_id: str
    agent_id: str
    records: int = 0
    differing: int = 0
    kinds: Counter[DifferenceKind] = field(default_factory=Counter)
    a: PublishedSide = field(default_factory=PublishedSide)
    b: PublishedSide = field(default_factory=PublishedSide)

    def add(self, a: Outcome, b: Outcome) -> Difference | None:
        """Take in what both made of the session's next record; return what differs."""
        self.records += 1
        self.a.add(self.records, a)
        self.b.add(self.records, b)
        differs = difference(a, b)
        if differs is not None:
            self.differing += 1
            self.kinds.update(differs.kinds)
        return differs

    @property
    def found_by(self) -> FoundBy:
        """Under which of them a loop was found."""
        match self.a.loop, self.b.loop:
            case None, None:
                return FoundBy.NEITHER
            case _, None:
                return FoundBy.ONLY_A
            case None, _:
                return FoundBy.ONLY_B
            case _:
                return FoundBy.BOTH

    @property
    def delay(self) -> int | None:
        """How many records later B found the loop that both found; negative when B was earlier."""
        if self.a.loop is None or self.b.loop is None:
            return None
        return self.b.loop.record - self.a.loop.record


def alert_rule(fields: Mapping[str, Any]) -> str | None:
    """Return the rule that raised an event, named as in specification 4.3; None for what is no alert.

    >>> alert_rule({"event_type": "drift_pattern", "pattern": "read_loop"})
    'A3:read_loop'
    >>> alert_rule({"event_type": "loop_episode", "phase": "recovered", "rule": "R1"}) is None
    True
    """
    match fields["event_type"]:
        case EventKind.ENTROPY_ALERT:
            return "A1"
        case EventKind.DIVERGENCE_SUSPECTED:
            return "A2"
        case EventKind.DRIFT_PATTERN:
            return f"A3:{fields['pattern']}"
        case EventKind.LOOP_EPISODE if fields["phase"] != "recovered":
            return str(fields["rule"])
        case _:
            return None


def _says_loop(fields: Mapping[str, Any]) -> bool:
    return fields["event_type"] == EventKind.LOOP_EPISODE and bool(fields["level"] == Level.LOOP)
