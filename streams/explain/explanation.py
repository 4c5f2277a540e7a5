"""What became of one session, gathered record by record: what fired, its episodes, its scores."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streams.domain.event import EventKind
from streams.domain.outcome import Rejected, Scored
from streams.domain.text.printable import printable
from streams.explain.advice import advice
from streams.explain.finding import sentence
from streams.offline import Judgement

MOST_NAMED: Final = 20
"""Rejected records that are named, and events of episodes that are kept; of more, the newest."""


@dataclass(slots=True)
class Firing:
    """How often a rule fired at a level, and on what. Records are named by their offsets."""

    rule: str
    level: str
    first: int
    evidence: str
    last: int = 0
    times: int = 0


@dataclass(slots=True)
class Explanation:
    """One session from its first record to its newest. Bounded, however long the session is."""

    session_id: str
    scored: int = 0
    duplicates: int = 0
    rejected: int = 0
    refusals: deque[tuple[int, tuple[str, ...]]] = field(default_factory=lambda: deque(maxlen=MOST_NAMED))
    """Offset and problems of rejected records."""
    firings: dict[tuple[str, str], Firing] = field(default_factory=dict)
    course: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MOST_NAMED))
    """Events of the episodes, but for those that say that one goes on."""
    loops: int = 0
    """Episodes that reached LOOP."""
    newest: Scored | None = None
    before: Scored | None = None
    """The last record that the timeline leaves out."""

    @property
    def records(self) -> int:
        """How many records there were, whatever became of them."""
        return self.scored + self.duplicates + self.rejected

    def add(self, judgement: Judgement) -> None:
        """Take in what became of a record of the session."""
        match judgement.outcome:
            case Scored() as scored:
                self._scored(scored)
            case Rejected(problems=problems):
                self.rejected += 1
                self.refusals.append((judgement.offset, problems))
            case _:
                self.duplicates += 1

    def _scored(self, scored: Scored) -> None:
        self.scored += 1
        self.newest = scored
        for rule, level, evidence in _fired(scored):
            offset = scored.decision.offset
            firing = self.firings.setdefault((rule, level), Firing(rule, level, offset, evidence))
            firing.last = offset
            firing.times += 1
        for event in scored.events:
            fields = event.fields
            if fields["event_type"] == EventKind.LOOP_EPISODE and fields["phase"] != "still_open":
                self.course.append(fields)
                self.loops += fields["level"] == "LOOP" and fields["phase"] in {"opened", "escalated"}


def _fired(scored: Scored) -> Iterator[tuple[str, str, str]]:
    """Yield (rule, level, evidence) of what fired with a record."""
    eddy, tool = scored.enriched["eddy"], printable(scored.decision.tool or "no tool", 40)
    for fired in (eddy.get("verdict") or {}).get("fired") or ():
        rule = f"R2:period{fired['period']}" if fired["rule"] == "R2" else fired["rule"]
        yield rule, fired["level"], f"count {fired['count']}, {tool}"
    uniqueness = eddy.get("uniqueness")
    if uniqueness is not None and uniqueness["severity"] != "NORMAL":
        told = sentence({"event_type": EventKind.ENTROPY_ALERT, **uniqueness})
        yield "A1", uniqueness["severity"], told
    for detector, found in _detections(eddy.get("loop")):
        yield (
            f"A4:{detector}",
            "WARNING",
            f"confidence {found['confidence']:g}, steps {_span(found['steps'])}",
        )
    for event in scored.events:
        yield from _told(event.fields)


def _detections(loop: Mapping[str, Any] | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for detector, found in (loop or {}).get("all_detections", {}).items():
        if found is not None:
            yield detector, found


def _span(steps: list[int]) -> str:
    return f"{steps[0]} to {steps[-1]}" if steps else "unknown"


def _told(fields: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    match fields["event_type"]:
        case EventKind.DIVERGENCE_SUSPECTED:
            yield f"A2:{fields['signature'][0]}", "WARNING", sentence(fields)
        case EventKind.DRIFT_PATTERN:
            rule = "escalation" if fields["phase"] == "escalation" else fields["pattern"]
            yield f"A3:{rule}", "WARNING", sentence(fields)
        case EventKind.RESPONSE if fields["level"] != "CONTINUE":
            yield "A5", fields["level"], advice(fields) or ""
        case EventKind.BUDGET if fields["emergency"] is not None:
            yield "A6", fields["emergency"], advice(fields) or ""
