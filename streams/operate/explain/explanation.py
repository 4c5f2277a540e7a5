"""What became of one session, gathered record by record: what fired, its episodes, its scores."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from streams.core.domain.level import Level
from streams.core.domain.outcome import Rejected, Scored
from streams.core.domain.text.printable import printable
from streams.core.offline import Judgement
from streams.operate.explain.presentation import fired, meaning

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
    """Events of the episodes, without those that only repeat that one is open."""
    latest: dict[str, Any] | None = None
    """The newest event of an episode: it may only repeat that the episode is open, but has newer figures."""
    open: dict[str, Any] | None = None
    """The open episode as of the newest scored record; None where none is open, or the record is older."""
    loops: int = 0
    """Episodes that reached LOOP. One that is open again counts once."""
    newest: Scored | None = None
    before: Scored | None = None
    """The last record that the timeline leaves out."""
    _loop: str | None = None

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
        tool = printable(scored.decision.tool or "no tool", 40)
        events = [event.fields for event in scored.events]
        for rule, level, evidence in fired(scored.enriched["eddy"], events, tool):
            offset = scored.decision.offset
            firing = self.firings.setdefault((rule, level), Firing(rule, level, offset, evidence))
            firing.last = offset
            firing.times += 1
        verdict = scored.enriched["eddy"].get("verdict")
        self.open = None if verdict is None else verdict.get("episode")
        for fields in events:
            found = meaning(fields)
            if found.level is None:
                continue
            self.latest = fields
            if found.news:
                self.course.append(fields)
                if found.level is Level.LOOP and not found.over and fields["episode_id"] != self._loop:
                    self._loop = fields["episode_id"]
                    self.loops += 1
