"""What a file held: for people one timeline per session and a summary, for machines a line a record."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from streams.cli.text.line import Line, TextSpan
from streams.cli.text.timeline import COLUMNS, SessionTimeline
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.outcome import Duplicate, Rejected, Scored
from streams.core.domain.text.figures import count
from streams.core.domain.text.printable import printable
from streams.core.offline import Judgement
from streams.operate.explain.explanation import meaning


def record_fields(judgement: Judgement) -> dict[str, Any]:
    """The document that says what became of a record; its keys are an interface others read.

    ``entropy_score`` is the one of the outbound record, ``node_state`` the one after the record, ``eddy`` the
    block of specification 1.7 with its events; all null where nothing goes out. ``recommendation`` is what
    the next task of the completed type should be granted, null for a record that completes none.
    ``handovers`` are the alerts that its session and another one hand each other the same task.
    """
    _, session_id, event_id, outcome, recommendation = judgement
    status = "ok"
    problems: tuple[str, ...] = ()
    entropy_score, node_state, eddy = None, None, None
    handovers: list[dict[str, Any]] = []
    match outcome:
        case Scored(enriched=enriched):
            cognition = enriched.get("cognition")
            entropy_score = None if cognition is None else cognition.get("entropy_score")
            node_state, eddy = outcome.node_state, enriched["eddy"]
            found = (event.fields for event in outcome.events)
            handovers = [fields for fields in found if fields["event_type"] == EventKind.HANDOVER_LOOP]
        case Duplicate():
            status = "duplicate"
        case Rejected():
            status, problems = "rejected", outcome.problems
    return {
        "status": status,
        "session_id": session_id,
        "event_id": event_id,
        "entropy_score": entropy_score,
        "node_state": node_state,
        "problems": problems,
        "eddy": eddy,
        "recommendation": recommendation,
        "handovers": handovers,
    }


MOST_OPEN: Final = 20_000
"""Sessions whose timelines are open; of more, the one that was quiet for longest is closed."""
MOST_LINES_BEFORE_A_LOOP: Final = 20
"""Lines of a session that are held where only loops are shown."""
MOST_SESSIONS_NAMED: Final = 25
"""Sessions the summary names; it counts the others."""


@dataclass(slots=True)
class ReportTally:
    """What is counted over all records."""

    scored: int = 0
    duplicates: int = 0
    rejected: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    """Rejected records by what was wrong with them; one may have several problems."""
    sessions: dict[str, Counter[str]] = field(default_factory=dict)
    """Published alerts by rule, for every session."""
    named: set[str] = field(default_factory=set)
    """Sessions with an alert for which people should look at them."""
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
            case Scored(decision=decision, events=events):
                self.scored += 1
                rules = self.sessions.setdefault(decision.session_id, Counter())
                for event in events:
                    found = meaning(event.fields)
                    if event.topic is not None and found.alert is not None:
                        rules[found.alert] += 1
                        if found.names_session:
                            self.named.add(decision.session_id)
                if is_at_loop(judgement.outcome):
                    self.loops.add(decision.session_id)


def is_at_loop(outcome: Scored | Duplicate | Rejected) -> bool:
    """Whether the verdict on the session was LOOP with this record."""
    return isinstance(outcome, Scored) and outcome.enriched["eddy"]["verdict"]["level"] == Level.LOOP


class SessionReport:
    """Writes the timelines of sessions that run side by side, each as soon as there is something to say.

    What is known of a session is written under a heading with its name, once more whenever another session
    came between. A session without anything to say gets two lines at its end. For each open
    session a few quiet steps are held.

    Args:
        write: takes one line to show.
        every_step: show all steps, not only the interesting ones.
        only_loops: show sessions from the step on at which their verdict is LOOP, and no others.
    """

    def __init__(self, write: Callable[[Line], None], *, every_step: bool, only_loops: bool = False) -> None:
        self._write = write
        self._every_step = every_step
        self._only_loops = only_loops
        self._open: OrderedDict[str, SessionTimeline] = OrderedDict()
        self._begun: set[str] = set()
        """Open sessions of which something was written."""
        self._newest: str | None = None
        """The session that the last written line is about."""
        self._wrote = self._wrote_columns = False
        self._tally = ReportTally()

    def add(self, judgement: Judgement) -> None:
        """Take in one record."""
        self._tally.add(judgement)
        if not isinstance(judgement.outcome, Scored):
            return
        decision = judgement.outcome.decision
        session_id = decision.session_id
        timeline = self._open.get(session_id)
        if timeline is None:
            timeline = self._open[session_id] = SessionTimeline(decision, every_step=self._every_step)
        timeline.add(judgement.outcome)
        self._open.move_to_end(session_id)
        if decision.is_terminal:
            self._close(session_id)
        elif timeline.lines:
            self._show(session_id, timeline)
        if len(self._open) > MOST_OPEN:
            self._close(next(iter(self._open)), goes_on=True)

    def finish(self) -> ReportTally:
        """Write what is held back and the summary; return what was counted."""
        for session_id in sorted(self._open, key=lambda name: name != self._newest):
            self._close(session_id)
        self._separate()
        for line in summary(self._tally, only_loops=self._only_loops):
            self._write(line)
        return self._tally

    def _show(self, session_id: str, timeline: SessionTimeline) -> None:
        if self._only_loops and not timeline.in_a_loop:
            del timeline.lines[:-MOST_LINES_BEFORE_A_LOOP]
            return
        if self._newest != session_id:
            self._separate()
            self._write(timeline.heading("continued" if session_id in self._begun else ""))
            self._begun.add(session_id)
            self._newest = session_id
        self._write_steps(timeline.take())

    def _close(self, session_id: str, *, goes_on: bool = False) -> None:
        timeline = self._open.pop(session_id)
        lines = timeline.end()
        if self._only_loops and not timeline.in_a_loop:
            return
        totals = timeline.totals() + (", goes on below" if goes_on else "")
        if self._newest == session_id:
            self._write_steps(lines)
            self._write(Line.of(TextSpan(f"         {totals}", "dim")))
        else:
            self._separate()
            self._write(timeline.heading(totals))
            self._write_steps(lines)
        self._begun.discard(session_id)
        self._newest = None

    def _write_steps(self, lines: Sequence[Line]) -> None:
        if any(line.cut for line in lines) and not self._wrote_columns:
            self._wrote_columns = True
            self._write(COLUMNS)
        for line in lines:
            self._write(line)

    def _separate(self) -> None:
        if self._wrote:
            self._write(Line())
        self._wrote = True


def summary(tally: ReportTally, *, only_loops: bool = False) -> list[Line]:
    """The last lines: how many records and sessions there were, and which sessions to look at."""
    records = tally.scored + tally.duplicates + tally.rejected
    loops = [(name, rules) for name, rules in tally.sessions.items() if name in tally.loops]
    suspicious = [
        (name, rules)
        for name, rules in tally.sessions.items()
        if name in tally.named and name not in tally.loops
    ]
    ordered = loops if only_loops else loops + suspicious
    counts = f"{tally.scored:,} scored, {tally.duplicates:,} duplicate, {tally.rejected:,} rejected"
    verdicts = f"{len(loops):,} in a loop, {len(suspicious):,} suspicious"
    lines = [
        Line.of(TextSpan(f"{count(records, 'record')}: ", "bold"), TextSpan(counts)),
        Line.of(TextSpan(f"{count(len(tally.sessions), 'session')}: ", "bold"), TextSpan(verdicts)),
    ]
    if tally.problems:
        lines.insert(1, Line.of(TextSpan(f"  rejected for {_counted(tally.problems)}", "yellow")))
    for session_id, rules in ordered[:MOST_SESSIONS_NAMED]:
        style = "bold red" if session_id in tally.loops else "yellow"
        name = TextSpan(printable(session_id, 80), style)
        lines.append(
            Line.of(TextSpan("  ▲ ", style), name, TextSpan(f"  {_counted(rules) or 'no alert published'}"))
        )
    if len(ordered) > MOST_SESSIONS_NAMED:
        lines.append(Line.of(TextSpan(f"  … and {len(ordered) - MOST_SESSIONS_NAMED:,} more")))
    return lines


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in sorted(counter.items()))
