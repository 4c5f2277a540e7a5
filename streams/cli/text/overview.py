"""Many sessions at a glance: which went in circles, when, with what, and what that cost. Dearest first."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import orjson

from streams.cli.text.line import Line, TextSpan
from streams.cli.text.report import ReportTally
from streams.core.detectors.verdict.presentation import pattern
from streams.core.domain.decision import Decision
from streams.core.domain.level import Level
from streams.core.domain.outcome import Scored
from streams.core.domain.text.figures import clock, count, day, dollars, duration, has_time
from streams.core.domain.text.printable import printable
from streams.core.offline import Judgement
from streams.formats.intake import Intake
from streams.operate.explain.explanation import meaning

MOST_SESSIONS_SHOWN: Final = 25
MOST_SUSPICIOUS_NAMED: Final = 3
_NAME: Final = 80
_CALL: Final = 80
_SAYS_MOST: Final = ("command", "cmd", "file_path", "path", "query", "pattern", "url")


class LoopOverview:
    """One episode at LOOP of a session.

    Attributes:
        fields: of its newest event, with the figures of the newest record that it was open at.
        call: what is repeated: the target or the arguments.
    """

    __slots__ = ("call", "fields")

    def __init__(self, fields: Mapping[str, Any], decision: Decision) -> None:
        self.fields = dict(fields)
        self.call = _call(decision)

    @property
    def tokens(self) -> float:
        """Return the tokens spent since it began."""
        tokens: float | None = self.fields["tokens_since_onset"]
        return tokens or 0.0

    @property
    def cost(self) -> float | None:
        """Return the cost since it began, None if the source names no cost."""
        cost: float | None = self.fields["cost_since_onset"]
        return cost


class Course:
    """What is kept of one session: its sums and its loops."""

    __slots__ = ("alerted", "began", "file", "loops", "open", "tokens")

    def __init__(self, began: int, file: str) -> None:
        self.began = began
        self.file = file
        self.tokens = 0.0
        self.loops: list[LoopOverview] = []
        self.open = False
        """Whether the newest loop is under way."""
        self.alerted = False

    @property
    def wasted(self) -> float:
        """Return the tokens spent in loops."""
        return sum(loop.tokens for loop in self.loops)

    @property
    def cost(self) -> float | None:
        """Return the cost of the loops, None if the source names none."""
        known = [loop.cost for loop in self.loops if loop.cost is not None]
        return sum(known) if known else None

    def add(self, scored: Scored) -> None:
        """Take in one record."""
        decision, episode = scored.decision, scored.enriched["eddy"]["verdict"]["episode"]
        self.tokens += decision.tokens_used
        if self.open and episode is not None:
            self.loops[-1].fields |= episode
        for event in scored.events:
            found = meaning(event.fields)
            named = event.topic is not None and found.alert is not None and found.names_session
            self.alerted = self.alerted or named
            if found.level is not None and found.over:
                if self.open:
                    self.loops[-1].fields |= event.fields
                self.open = False
            elif found.level is Level.LOOP and not self.open:
                self.open = True
                self.loops.append(LoopOverview(event.fields, decision))


class Overview:
    """Gathers all sessions, and writes at the end what to look at.

    Args:
        write: takes one line to show.
        intake: says which file a record came from.
        paths: what the user named, for the commands that are recommended.
        options: how files are read, for these commands too.
        only_loops: leave out the sessions that did not loop.
    """

    def __init__(
        self,
        write: Callable[[Line], None],
        intake: Intake,
        paths: tuple[str, ...],
        options: tuple[str, ...] = (),
        *,
        only_loops: bool,
    ) -> None:
        self._write = write
        self._intake = intake
        self._paths, self._options = paths, options
        self._only_loops = only_loops
        self._tally = ReportTally()
        self._courses: dict[str, Course] = {}

    def add(self, judgement: Judgement) -> None:
        """Take in one record."""
        self._tally.add(judgement)
        if isinstance(judgement.outcome, Scored):
            decision = judgement.outcome.decision
            course = self._courses.get(decision.session_id)
            if course is None:
                course = Course(decision.timestamp, self._intake.reading)
                self._courses[decision.session_id] = course
            course.add(judgement.outcome)

    def finish(self) -> ReportTally:
        """Write the table and the sums; return what was counted."""
        for line in self.lines():
            self._write(line)
        return self._tally

    def lines(self) -> Iterator[Line]:
        """Yield what there is to say."""
        if not self._courses:
            return
        looped = [(name, course) for name, course in self._courses.items() if course.loops]
        looped.sort(key=lambda each: (-(each[1].cost or 0.0), -each[1].wasted, each[1].began))
        sessions = count(len(self._courses), "session")
        if looped:
            yield Line.of(
                TextSpan(f"{len(looped):,} of {sessions} went in circles", "bold red"),
                TextSpan(_spent(looped)),
            )
            yield Line()
            yield Line.of(TextSpan(_HEADING, "dim"))
            for name, course in looped[:MOST_SESSIONS_SHOWN]:
                yield from _session(name, course)
            if len(looped) > MOST_SESSIONS_SHOWN:
                yield Line.of(TextSpan(f"  … and {len(looped) - MOST_SESSIONS_SHOWN:,} more"))
        if looped and len(looped) < len(self._courses) and not self._only_loops:
            yield Line()
        if not self._only_loops:
            yield from self._others()
        yield from self._commands(looped)

    def _others(self) -> Iterator[Line]:
        """Count the sessions that did not loop."""
        calm = {name: course for name, course in self._courses.items() if not course.loops}
        suspicious = [name for name, course in calm.items() if course.alerted]
        if suspicious:
            named = ", ".join(printable(name, _NAME) for name in suspicious[:MOST_SUSPICIOUS_NAMED])
            more = len(suspicious) - MOST_SUSPICIOUS_NAMED
            yield Line.of(
                TextSpan(f"{count(len(suspicious), 'session')} suspicious, in no loop: ", "yellow"),
                TextSpan(named + (f" and {more:,} more" if more > 0 else "")),
            )
        healthy = len(calm) - len(suspicious)
        if healthy:
            tokens = sum(course.tokens for course in calm.values() if not course.alerted)
            spent = f", {tokens:,.0f} tokens" if tokens else ""
            yield Line.of(TextSpan(f"{count(healthy, 'session')} healthy", "green"), TextSpan(spent))

    def _commands(self, looped: list[tuple[str, Course]]) -> Iterator[Line]:
        """Recommend how to look at a session."""
        if looped:
            name, course = looped[0]
            yield Line()
            yield Line.of(
                TextSpan("Step by step: ", "bold"), TextSpan(_command(name, (*self._options, course.file)))
            )
            if len(looped) > 1:
                others = shlex.join((*self._options, *self._paths))
                yield Line.of(TextSpan(f"Any other one: eddy explain SESSION {others}"))


_HEADING: Final = "  tokens in loop  began, UTC           lasted     session"


def _session(name: str, course: Course) -> Iterator[Line]:
    dearest = max(course.loops, key=lambda loop: (loop.cost or 0.0, loop.tokens))
    began = dearest.fields["first_timestamp"]
    lasted = duration(dearest.fields["last_timestamp"] - began) if has_time(began) else ""
    tokens = f"{course.wasted:,.0f}" if course.tokens else "unknown"
    cost = "" if course.cost is None else f"  {dollars(course.cost)}"
    yield Line.of(
        TextSpan(f"▲ {tokens:>14}  ", "bold red"),
        TextSpan(f"{day(began):<10} {clock(began):<8}  {lasted:<9}  "),
        TextSpan(printable(name, _NAME), "bold"),
        TextSpan(cost),
    )
    call = f": {dearest.call}" if dearest.call else ""
    others = len(course.loops) - 1
    more = f"; and {count(others, 'more loop')}" if others else ""
    yield Line.of(TextSpan(f"{'':18}{pattern(dearest.fields)}{call}{more}"))


def _spent(looped: list[tuple[str, Course]]) -> str:
    tokens = sum(course.wasted for _, course in looped)
    costs = [course.cost for _, course in looped if course.cost is not None]
    parts = [f"{tokens:,.0f} tokens"] if tokens else []
    if costs:
        parts.append(dollars(sum(costs)))
    said = f" and spent {', '.join(parts)} there" if parts else ""
    return f"{said}. Most wasteful first:" if len(looped) > 1 else f"{said}:"


def _command(session_id: str, arguments: tuple[str, ...]) -> str:
    """Return the command that shows a session step by step."""
    plain = session_id.isprintable() and not session_id.startswith("-")
    return f"eddy explain {shlex.quote(session_id) if plain else 'SESSION'} {shlex.join(arguments)}"


def _call(decision: Decision) -> str:
    """Return what a call is about: its target, or the argument that says most."""
    given = decision.action.get("tool_input")
    text = given if isinstance(given, str) else ""
    if text.startswith("{"):
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            value = {}
        texts = {key: each for key, each in value.items() if isinstance(each, str) and each}
        text = next((texts[key] for key in _SAYS_MOST if key in texts), next(iter(texts.values()), text))
    return printable(decision.target or text, _CALL)
