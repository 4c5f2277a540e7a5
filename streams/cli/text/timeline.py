"""What happened in one session, for people: the interesting steps, and a count of the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from streams.cli.text.line import Line, TextSpan
from streams.core.detectors.detector import Meaning
from streams.core.domain.decision import Decision
from streams.core.domain.level import Level, higher
from streams.core.domain.outcome import Event, Scored
from streams.core.domain.text.figures import clock, count, day, dollars, duration, has_time
from streams.core.domain.text.printable import printable
from streams.operate.explain.explanation import meaning, sentence


def mark(meaning: Meaning) -> str:
    """Return the sign before an alert: up if something is wrong, down if it is over."""
    return "▼" if meaning.over else "▲"


def style(meaning: Meaning) -> str:
    """Return the colour of an alert."""
    if meaning.over:
        return "green"
    return "bold red" if meaning.level is Level.LOOP else "yellow"


CONTEXT_STEPS: Final = 5
"""Quiet steps shown before one with something to say: they are the loop it speaks of."""

_STYLES: Final = {Level.NORMAL: "green", Level.WARNING: "yellow", Level.LOOP: "bold red"}
_STATUS_STYLES: Final = {"failure": "red", "pending": "cyan", "skipped": "dim"}


COLUMNS: Final = Line.of(
    TextSpan("   step  time UTC  uniq verdict  status   tool · intent · target or input", "dim")
)
"""The heading of the steps."""


class _Row(NamedTuple):
    line: Line
    level: Level
    day: str


class SessionTimeline:
    """The lines about one session, gathered while its records come in.

    Args:
        first: the record the timeline starts with.
        every_step: show all steps, not only the interesting ones.
        spent: cost of the session before that record.

    Attributes:
        lines: what there is to show and was not taken yet.
        in_a_loop: whether the verdict was LOOP at some step.
    """

    def __init__(self, first: Decision, *, every_step: bool, spent: float = 0.0) -> None:
        self.lines: list[Line] = []
        self._name = f"{printable(first.session_id, 80)} · {printable(first.agent_id, 40) or 'no agent'}"
        self._every_step = every_step
        self.in_a_loop = False
        self._taken = False
        self._day = self._first_day = day(first.timestamp)
        self._spent = spent
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
        level = Level(eddy["verdict"]["level"])
        alerted = any(
            event.topic is not None and found.alert is not None and found.names_session
            for event in scored.events
            for found in (meaning(event.fields),)
        )
        self._worst = higher(self._worst, higher(level, Level.WARNING) if alerted else level)
        lines = [line for event in scored.events if (line := self._line(event)) is not None]
        row = _Row(step_line(decision, eddy), level, day(decision.timestamp))
        self.in_a_loop = self.in_a_loop or level is Level.LOOP
        if lines or level != self._level or self._every_step:
            self._show_context()
            self._show(row)
            self.lines += lines
        else:
            self._quiet.append(row)
            self._hide_all_but(CONTEXT_STEPS)
        self._level = level

    def _line(self, event: Event) -> Line | None:
        """Return the line of an event, None for one that is not shown.

        The event of an episode is shown wherever it is published, because it explains the level of the
        steps; an episode that never reached LOOP just ends. Advice is shown for sessions that are suspicious
        anyway, and for all sessions with every step.
        """
        found = meaning(event.fields)
        if not found.news:
            return None
        if found.level is not None:
            shown = not (found.over and found.level is not Level.LOOP)
        elif found.alert is not None:
            shown = event.topic is not None
        elif self._every_step or (self._worst is not Level.NORMAL and found.serious):
            return Line.of(TextSpan("         ▷ ", "cyan"), TextSpan(sentence(event.fields)))
        else:
            return None
        return _alert_line(event.fields, found) if shown else None

    def take(self) -> list[Line]:
        """Return the lines there are; they are not kept."""
        lines, self.lines = self.lines, []
        self._taken = self._taken or bool(lines)
        return lines

    def end(self) -> list[Line]:
        """Return the lines that were not taken, ending with the last step."""
        if self.lines or self._taken:
            self._hide_all_but(1)
        else:
            self._hide(len(self._quiet))
        self._show_context()
        return self.take()

    def heading(self, note: str = "") -> Line:
        """Return whose timeline it is, and the day on which it begins."""
        about = "".join(f" · {part}" for part in (self._first_day, note) if part)
        return Line.of(TextSpan("● ", _STYLES[self._worst]), TextSpan(self._name, "bold"), TextSpan(about))

    def totals(self) -> str:
        """Return how many steps there were, how long they took, and what they cost."""
        lasted = f" in {duration(self._to - self._from)}" if has_time(self._from) else ""
        parts = [f"{count(self._steps, 'step')}{lasted}"]
        if self._tokens:
            parts.append(f"{self._tokens:,.0f} tokens")
        if self._cost is not None:
            parts.append(dollars(self._cost - self._spent))
        return ", ".join(parts)

    def _show(self, row: _Row) -> None:
        if row.day != self._day:
            self._day = row.day
            self.lines.append(Line.of(TextSpan(f"         {row.day}", "dim")))
        self.lines.append(row.line)

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
            hidden = count(self._hidden, "step")
            self.lines.append(Line.of(TextSpan(f"       … {hidden}, {self._hidden_worst}", "dim")))
        for row in self._quiet:
            self._show(row)
        self._hidden, self._hidden_worst = 0, Level.NORMAL
        self._quiet.clear()


def step_line(decision: Decision, eddy: Mapping[str, Any]) -> Line:
    """Step, time, uniqueness and verdict, status; then what was done, which a narrow terminal may cut."""
    step = "-" if eddy["step"] is None else str(eddy["step"])
    uniqueness, level = eddy["uniqueness"], Level(eddy["verdict"]["level"])
    score, severity = "", Level.NORMAL
    if uniqueness is not None:
        score, severity = f"{uniqueness['score']:.2f}", Level(uniqueness["severity"])
    about = decision.target or decision.action.get("tool_input") or ""
    did = [decision.tool or decision.kind, decision.intent or "", about]
    spans = (
        TextSpan(f"{step:>7}  {clock(decision.timestamp):<8}  "),
        TextSpan(f"{score:>4} ", _STYLES[severity]),
        TextSpan(f"{level:<7}  ", _STYLES[level]),
        TextSpan(f"{decision.status:<7}  ", _STATUS_STYLES.get(decision.status, "")),
        TextSpan(" · ".join(printable(text, 60) for text in did if text)),
    )
    return Line(spans, cut=True)


def _alert_line(fields: Mapping[str, Any], found: Meaning) -> Line:
    shown = style(found)
    return Line.of(
        TextSpan(f"         {mark(found)} ", shown),
        TextSpan(f"{found.alert}: ", shown),
        TextSpan(sentence(fields)),
    )
