"""What a run led to: outputs by topic, and what there is to count and to log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.codec import Reason
from streams.core.domain.record import Outgoing


@dataclass(frozen=True, slots=True)
class Violation:
    """A record, or a part of it, that broke the contract: something for the log."""

    offset: int
    reason: Reason | None
    """Why it went to the dead letters; None when it was scored all the same."""
    detail: str
    """What was wrong and what is allowed, without any text of the record."""


@dataclass(slots=True)
class RunResult:
    """What a run led to. ``outputs`` by topic, in the order of the records."""

    outputs: dict[str, list[Outgoing]] = field(default_factory=dict)
    scored: int = 0
    duplicates: int = 0
    forgotten: int = 0
    """Orders to forget a session."""
    dead_lettered: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    unredacted: Counter[str] = field(default_factory=Counter)
    """Records of which no text is kept, since the redactor failed: by the kind of the error."""
    episodes: list[Mapping[str, Any]] = field(default_factory=list)
    """The events among them that tell of an episode."""
    violations: list[Violation] = field(default_factory=list)
    tried: int = 0
    """Records that were judged under the shadow settings too."""
    differences: Counter[str] = field(default_factory=Counter)
    """Records that those judge otherwise, by what differs."""
    in_time_until: list[int] = field(default_factory=list)
    """For each record that found no state: from when on its session may have been removed, ms."""

    def late(self, now_ms: int) -> int:
        """Return how many of the records that found no state came that late (specification 2.5)."""
        return sum(1 for until in self.in_time_until if until < now_ms)

    def add(self, topic: str, record: Outgoing) -> None:
        """Append an output."""
        records = self.outputs.get(topic)
        if records is None:
            self.outputs[topic] = [record]
        else:
            records.append(record)
