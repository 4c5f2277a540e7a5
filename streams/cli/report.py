"""What a file held, for people: one timeline per session, then a summary."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from streams.cli.finding_text import rule
from streams.cli.line import Line, Span
from streams.cli.timeline import Timeline
from streams.domain.level import Level
from streams.domain.outcome import Duplicate, Rejected, Scored
from streams.domain.printable import printable
from streams.offline import Judgement

MOST_LINES_HELD: Final = 20_000
"""Sessions run side by side and are told one after the other; this bounds what is held back for that."""
MOST_SESSIONS_NAMED: Final = 25
"""Sessions the summary names; it counts the others."""


@dataclass(slots=True)
class Tally:
    """What is counted over all records."""

    scored: int = 0
    duplicates: int = 0
    rejected: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    """Rejected records by what was wrong with them; one may have several problems."""
    sessions: dict[str, Counter[str]] = field(default_factory=dict)
    """Published alerts by rule, for every session."""
    loops: set[str] = field(default_factory=set)
    """Sessions whose verdict was LOOP at some record, told or not."""

    def add(self, judgement: Judgement) -> None:
        """Count one record."""
        match judgement.outcome:
            case Duplicate():
                self.duplicates += 1
            case Rejected(problems=problems):
                self.rejected += 1
                self.problems.update(problems)
            case Scored(decision=decision, enriched=enriched, events=events):
                self.scored += 1
                rules = self.sessions.setdefault(decision.session_id, Counter())
                for event in events:
                    name = rule(event.fields) if event.topic is not None else None
                    if name is not None:
                        rules[name] += 1
                if enriched["eddy"]["verdict"]["level"] == Level.LOOP:
                    self.loops.add(decision.session_id)


class Report:
    """Gathers the timelines of sessions that run side by side, and writes each one in one piece.

    A session is written when it ends, at the end of the input, or, when too many lines are held, as far as it
    got; then it goes on below under a heading of its own.

    Args:
        write: takes one line to show.
        every_step: show all steps, not only the interesting ones.
    """

    def __init__(self, write: Callable[[Line], None], *, every_step: bool) -> None:
        self._write = write
        self._every_step = every_step
        self._open: OrderedDict[str, Timeline] = OrderedDict()
        self._held = 0
        self._tally = Tally()

    def add(self, judgement: Judgement) -> None:
        """Take in one record."""
        self._tally.add(judgement)
        if not isinstance(judgement.outcome, Scored):
            return
        decision = judgement.outcome.decision
        timeline = self._open.get(decision.session_id)
        if timeline is None:
            timeline = self._open[decision.session_id] = Timeline(decision, every_step=self._every_step)
            self._held += 1
        before = len(timeline.lines)
        timeline.add(judgement.outcome)
        self._held += len(timeline.lines) - before
        self._open.move_to_end(decision.session_id)
        if decision.is_terminal:
            self._close(decision.session_id)
        while self._held > MOST_LINES_HELD:
            self._close(next(iter(self._open)), goes_on=True)

    def finish(self) -> Tally:
        """Write what is held back and the summary; return what was counted."""
        for session_id in tuple(self._open):
            self._close(session_id)
        for line in summary(self._tally):
            self._write(line)
        return self._tally

    def _close(self, session_id: str, *, goes_on: bool = False) -> None:
        timeline = self._open.pop(session_id)
        self._held -= 1 + len(timeline.lines)
        for line in timeline.close(goes_on=goes_on):
            self._write(line)
        self._write(Line())


def summary(tally: Tally) -> list[Line]:
    """The last lines: how many records and sessions there were, and which sessions to look at."""
    records = tally.scored + tally.duplicates + tally.rejected
    loops = [(name, rules) for name, rules in tally.sessions.items() if name in tally.loops]
    suspicious = [
        (name, rules) for name, rules in tally.sessions.items() if rules and name not in tally.loops
    ]
    ordered = loops + suspicious
    counts = f"{tally.scored:,} scored, {tally.duplicates:,} duplicate, {tally.rejected:,} rejected"
    verdicts = f"{len(loops):,} in a loop, {len(suspicious):,} suspicious"
    lines = [
        Line.of(Span(f"{_count(records, 'record')}: ", "bold"), Span(counts)),
        Line.of(Span(f"{_count(len(tally.sessions), 'session')}: ", "bold"), Span(verdicts)),
    ]
    if tally.problems:
        lines.insert(1, Line.of(Span(f"  rejected for {_counted(tally.problems)}", "yellow")))
    for session_id, rules in ordered[:MOST_SESSIONS_NAMED]:
        style = "bold red" if session_id in tally.loops else "yellow"
        name = Span(printable(session_id, 80), style)
        lines.append(Line.of(Span("  ▲ ", style), name, Span(f"  {_counted(rules) or 'no alert published'}")))
    if len(ordered) > MOST_SESSIONS_NAMED:
        lines.append(Line.of(Span(f"  … and {len(ordered) - MOST_SESSIONS_NAMED:,} more")))
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in sorted(counter.items()))
