"""What happened in one session, for people: the interesting steps, and a count of the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from streams.cli.finding_text import is_loop, is_news, rule, sentence
from streams.cli.printable import printable
from streams.domain.decision import Decision
from streams.domain.level import Level, higher
from streams.domain.outcome import Scored

CONTEXT_STEPS: Final = 5
"""Quiet steps shown before one with something to say: they are the loop it speaks of."""

_STYLES: Final = {Level.NORMAL: "green", Level.WARNING: "yellow", Level.LOOP: "bold red"}
_STATUS_STYLES: Final = {"failure": "red", "pending": "cyan", "skipped": "dim"}


class Span(NamedTuple):
    """A piece of a line, and how a terminal shows it."""

    text: str
    style: str = ""


class Line(NamedTuple):
    """A line; ``cut`` when a narrow terminal may cut its end instead of wrapping it."""

    spans: tuple[Span, ...] = ()
    cut: bool = False

    @classmethod
    def of(cls, *spans: Span) -> Line:
        """Make a line that is shown whole."""
        return cls(spans)


class _Row(NamedTuple):
    line: Line
    level: Level


class Timeline:
    """The lines about one session, gathered while its records come in.

    Args:
        first: the record the timeline starts with.
        every_step: show all steps, not only the interesting ones.
    """

    def __init__(self, first: Decision, *, every_step: bool) -> None:
        self.lines: list[Line] = []
        self._name = f"{printable(first.session_id, 80)} · {printable(first.agent_id, 40) or 'no agent'}"
        self._every_step = every_step
        self._steps, self._tokens, self._cost = 0, 0.0, first.cumulative_cost
        self._from = self._to = first.timestamp
        self._level = self._worst = Level.NORMAL
        self._quiet: deque[_Row] = deque()
        self._hidden, self._hidden_worst = 0, Level.NORMAL

    def add(self, scored: Scored) -> None:
        """Take in one record."""
        decision, eddy = scored.decision, scored.enriched["eddy"]
        self._steps += 1
        self._tokens += decision.tokens_used
        self._cost = self._cost if decision.cumulative_cost is None else decision.cumulative_cost
        self._to = max(self._to, decision.timestamp)
        uniqueness = eddy["uniqueness"]
        level = Level(uniqueness["severity"]) if uniqueness is not None else self._level
        told = [event.fields for event in scored.events if event.topic is not None]
        news = [fields for fields in told if rule(fields) is not None and is_news(fields)]
        row = _Row(_step_line(decision, eddy), level)
        if news or level != self._level or self._every_step:
            self._show_context()
            self.lines.append(row.line)
            self.lines += [_finding_line(fields) for fields in news]
        else:
            self._quiet.append(row)
            self._hide_all_but(CONTEXT_STEPS)
        self._level = level
        self._worst = higher(self._worst, Level.LOOP if any(map(is_loop, told)) else level)

    def close(self, *, goes_on: bool = False) -> list[Line]:
        """Return the heading and all lines, ending with the last step; ``goes_on`` when more is to come."""
        if self.lines:
            self._hide_all_but(1)
        else:
            self._hide(len(self._quiet))
        self._show_context()
        return [self._heading(goes_on=goes_on), *self.lines]

    def _hide_all_but(self, newest: int) -> None:
        """Count the older quiet steps instead of showing them, unless that would hide a single one."""
        older = len(self._quiet) - newest
        if older > 1 or self._hidden:
            self._hide(older)

    def _hide(self, oldest: int) -> None:
        for _ in range(oldest):
            self._hidden += 1
            self._hidden_worst = higher(self._hidden_worst, self._quiet.popleft().level)

    def _show_context(self) -> None:
        if self._hidden:
            steps = "step" if self._hidden == 1 else "steps"
            self.lines.append(Line.of(Span(f"       … {self._hidden} {steps}, {self._hidden_worst}", "dim")))
        self.lines += [row.line for row in self._quiet]
        self._hidden, self._hidden_worst = 0, Level.NORMAL
        self._quiet.clear()

    def _heading(self, *, goes_on: bool) -> Line:
        parts = [
            f"{self._steps} {'step' if self._steps == 1 else 'steps'} in {duration(self._to - self._from)}"
        ]
        if self._tokens:
            parts.append(f"{self._tokens:,.0f} tokens")
        if self._cost is not None:
            parts.append(f"cost {self._cost:.4g}")
        if goes_on:
            parts.append("goes on below")
        bullet, name = Span("● ", _STYLES[self._worst]), Span(self._name, "bold")
        return Line.of(bullet, name, Span(f" · {', '.join(parts)}"))


def duration(milliseconds: float) -> str:
    """A time span in the two largest units that matter.

    >>> duration(80), duration(72_000), duration(7_260_000)
    ('80 ms', '1 min 12 s', '2 h 1 min')
    """
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = int(milliseconds // 1000)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600:,} h {seconds % 3600 // 60} min"


def clock(timestamp: int) -> str:
    """The time of day, UTC; a time no calendar has as its milliseconds.

    >>> clock(1_700_000_000_000), clock(2**63 - 1)
    ('22:13:20', '9223372036854775807')
    """
    try:
        return f"{datetime.fromtimestamp(timestamp / 1000, UTC):%H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return str(timestamp)


def _step_line(decision: Decision, eddy: Mapping[str, Any]) -> Line:
    """Step, time, score and level, status; then what was done, which a narrow terminal may cut."""
    step = "-" if eddy["step"] is None else str(eddy["step"])
    uniqueness = eddy["uniqueness"]
    score, level = ("", "") if uniqueness is None else (f"{uniqueness['score']:.2f}", uniqueness["severity"])
    about = decision.target or decision.action.get("tool_input") or ""
    did = [decision.tool or decision.kind, decision.intent or "", about]
    spans = (
        Span(f"{step:>7}  {clock(decision.timestamp)}  "),
        Span(f"{score:>4} {level:<7}  ", _STYLES[Level(level)] if level else ""),
        Span(f"{decision.status:<7}  ", _STATUS_STYLES.get(decision.status, "")),
        Span(" · ".join(printable(text, 60) for text in did if text)),
    )
    return Line(spans, cut=True)


def _finding_line(fields: Mapping[str, Any]) -> Line:
    style = "bold red" if is_loop(fields) else "yellow"
    return Line.of(Span("         ▲ ", style), Span(f"{rule(fields)}: ", style), Span(sentence(fields)))
