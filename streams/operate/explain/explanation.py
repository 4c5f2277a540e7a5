"""What became of one session, record by record, and what the detectors say of it in their own words."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from streams.core.detectors.detector import Fired, Meaning, Presentation
from streams.core.detectors.registry import DETECTORS, REGISTERED
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.outcome import Rejected, Scored
from streams.core.domain.text.figures import duration, money
from streams.core.domain.text.printable import printable
from streams.core.offline import Judgement
from streams.core.policy.silence import SILENT
from streams.core.policy.spending import ExcessPhase, Measure

Fields = Mapping[str, Any]


class _HandoverPresentation(Presentation):
    """Which agents hand each other the same task; found across sessions, by no detector."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.HANDOVER_LOOP,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that it is an alert."""
        return Meaning(alert=fields["event_type"])

    def sentence(self, fields: Fields) -> str:
        """Return both agents and the number of rounds."""
        one = printable(fields["agent_id"] or "an agent", 40)
        other = printable(fields["target"] or "another agent", 40)
        rounds = f"{fields['count']} rounds without work in between"
        return f"{one} and {other} hand each other the same task: {rounds}"


class _SilencePresentation(Presentation):
    """Which session owes a step and is silent; decided by a clock, found by no detector."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.SILENT_SESSION,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that it is an alert, or that one is over: then nobody has to look."""
        is_silent = fields["phase"] == SILENT
        return Meaning(alert=fields["event_type"], over=not is_silent, names_session=is_silent)

    def sentence(self, fields: Fields) -> str:
        """Return for how long it was silent, and what is usual."""
        if fields["phase"] == "spoke" and fields["silent_ms"] < fields["limit_ms"]:
            return "spoke again, with a step that was on its way"
        if fields["phase"] == "spoke":
            return f"spoke again, {duration(fields['silent_ms'])} after its last step"
        if fields["phase"] != SILENT:
            return "never spoke again"
        habit = fields.get("habit_ms")
        usual = "" if habit is None else f", 95 of 100 come within {duration(habit)}"
        return f"silent in the middle of its work: no step for {duration(fields['limit_ms'])}{usual}"


class _SpendingPresentation(Presentation):
    """Which session spends more than it may; found by no detector."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.OVERSPENDING,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that it is an alert, that one goes on, or that one is over."""
        phase = fields["phase"]
        return Meaning(
            alert=fields["event_type"],
            news=phase != ExcessPhase.STILL_OVER,
            over=phase in (ExcessPhase.UNDER, ExcessPhase.ENDED),
            names_session=phase in (ExcessPhase.OVER, ExcessPhase.STILL_OVER),
        )

    def sentence(self, fields: Fields) -> str:
        """Return what it spends, and what is allowed."""
        rule, phase = fields["rule"], fields["phase"]
        if phase == ExcessPhase.ENDED:
            return "ended while it spent more than it may"
        spent, limit = fields["spent"], fields["limit"]
        if phase == ExcessPhase.UNDER and not limit:
            return f"has no limit of {_MEASURED.get(rule, 'this kind')} any more"
        match rule:
            case Measure.RATE if phase == ExcessPhase.UNDER:
                return f"uses {spent:,.0f} tokens a minute, well below its limit of {limit:,.0f} again"
            case Measure.RATE if spent < limit:
                return f"still uses {spent:,.0f} tokens a minute, more than half of its limit of {limit:,.0f}"
            case Measure.RATE:
                return f"uses {spent:,.0f} tokens a minute, its limit is {limit:,.0f}"
            case Measure.COST:
                return f"has cost {money(spent)}, its limit is {money(limit)}"
            case Measure.KIND:
                tasks = f"{fields['samples']:,} completed tasks of its type"
                return f"has used {spent:,.0f} tokens, its limit by {tasks} is {limit:,.0f}"
        return f"spends {money(spent)}, its limit is {money(limit)}"


_MEASURED: Final = {Measure.RATE: "tokens a minute", Measure.COST: "cost"}

_PRESENTATIONS: Final = (
    *[detector.presentation for detector in DETECTORS],
    _HandoverPresentation(),
    _SilencePresentation(),
    _SpendingPresentation(),
)
_BY_EVENT: Final = {kind: each for each in _PRESENTATIONS for kind in each.events}

_NO_NEWS: Final = Meaning(news=False)
"""An event that no detector emits: the pipeline's own, which follows from the others."""


def meaning(fields: Fields) -> Meaning:
    """Return what an event means to people.

    >>> event = {"event_type": "drift_pattern", "pattern": "read_loop", "phase": "alert"}
    >>> meaning(event).alert, meaning({"event_type": "node_state"}).news
    ('read_loop', False)
    """
    presentation = _BY_EVENT.get(fields["event_type"])
    return _NO_NEWS if presentation is None else presentation.meaning(fields)


def sentence(fields: Fields) -> str:
    """Return what an event says, in one line safe to print.

    >>> sentence({"event_type": "divergence_suspected", "signature": ["tool", "Read"], "repeat_count": 3})
    'Read was called 3 times in a row'
    >>> sentence({"event_type": "handover_loop", "agent_id": "coder", "target": "tester", "count": 6})
    'coder and tester hand each other the same task: 6 rounds without work in between'
    """
    presentation = _BY_EVENT.get(fields["event_type"])
    return str(fields["event_type"]) if presentation is None else presentation.sentence(fields)


def fired(eddy: Fields, events: Iterable[Fields], tool: str) -> Iterator[Fired]:
    """Yield the rules that fired with a record, by the blocks first and then by the events.

    Args:
        eddy: block of the record.
        events: fields of its events.
        tool: what the record called, in words.
    """
    for detector in DETECTORS:
        if block := eddy.get(detector.name):
            yield from detector.presentation.fired(block, tool)
    for fields in events:
        by = meaning(fields).fired
        if by is not None:
            yield Fired(*by, sentence(fields))


def summaries(eddy: Fields) -> Iterator[tuple[str, str]]:
    """Yield the name of each detector that sums its block up, and the summary."""
    for detector in REGISTERED:
        if (block := eddy.get(detector.name)) and (text := detector.presentation.summary(block)):
            yield detector.name, text


def objections(eddy: Fields) -> Iterator[str]:
    """Yield what speaks against a calm verdict on the record."""
    for detector in REGISTERED:
        if (block := eddy.get(detector.name)) and (text := detector.presentation.objection(block)):
            yield text


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
