"""What is judged while it happens, and what was read, for people: a line for each, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from streams.cli.text.line import Line, TextSpan
from streams.cli.text.timeline import mark, style
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.level import Level
from streams.core.domain.outcome import Scored
from streams.core.domain.text.figures import clock, count
from streams.core.domain.text.printable import printable
from streams.core.entry import Entry, session_key
from streams.core.offline import MOST_FOLLOWED, Judge, Judgement
from streams.formats.ingest.ingestion import FormatAccount, IngestAccount
from streams.formats.ingest.sink import SentRecord
from streams.operate.explain.explanation import meaning, sentence

_MOST_NAMED: Final = 5
_REASONS: Final = {
    "unreadable": "unreadable",
    "unknown_shape": "of an unknown shape",
    "orphan_result": "results without a call",
    "unanswered": "calls without a result",
    "no_content": "calls without their arguments",
    "no_price": "models without a price",
}


def summary(account: IngestAccount) -> Iterator[Line]:
    """Yield the lines."""
    for name, source in sorted(account.sources.items()):
        if source.paths:
            yield from _source(name, source)
    if account.unreadable:
        yield from _left_out(
            "could not be opened", sorted(account.unreadable), list(account.unreadable.values())
        )
    if account.unknown:
        yield from _left_out("of no known format left out", sorted(account.unknown), [])


def _source(name: str, source: FormatAccount) -> Iterator[Line]:
    problems = source.all_problems
    counts = [
        count(len(source.paths), "file"),
        count(source.records, "record"),
        f"{source.repeated:,} sent before" if source.repeated else "",
        f"{source.older:,} too old" if source.older else "",
        f"{count(source.all_ignored, 'line')} ignored",
        count(problems.total(), "problem"),
    ]
    yield Line.of(TextSpan(f"{name}: ", "bold"), TextSpan(", ".join(filter(None, counts))))
    for reason, number in problems.most_common():
        first = source.first[reason]
        where = printable(f"{first.where}: {first.detail}", 120)
        text = f"  {number:,} {_REASONS.get(reason, reason)}, first {where}"
        yield Line.of(TextSpan(text, "yellow"))


def _left_out(what: str, paths: Sequence[str], why: Sequence[str]) -> Iterator[Line]:
    named = ", ".join(printable(path, 80) for path in paths[:_MOST_NAMED])
    more = f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else ""
    reason = f" ({printable(why[0], 120)})" if why else ""
    yield Line.of(TextSpan(f"{count(len(paths), 'file')} {what}: {named}{more}{reason}", "yellow"))


MOST_NAMED: Final = 10
"""Sessions named that were in a loop before anything was followed; it counts the others."""


class LiveAlerts:
    """A sink that judges records and writes alerts that say something new.

    Until `catch_up` is called, records are the past: then only sessions that are in a loop are named.

    Args:
        write: Takes a line to show.
        settings: Settings that alerts are made under.
    """

    def __init__(self, write: Callable[[Line], None], settings: DetectionSettings) -> None:
        self._write = write
        self._judge = Judge(settings, MOST_FOLLOWED)
        self._is_live = False
        self._past: dict[str, Line] = {}
        self.sessions: set[str] = set()
        self.loops: set[str] = set()

    async def write(self, records: Sequence[SentRecord]) -> None:
        """Judge records."""
        for each in records:
            self._add(self._judge.judge(Entry(session_key(each.value), None, each.value, None)))

    async def close(self) -> None:
        """Do nothing."""

    def catch_up(self) -> None:
        """Name the sessions that are in a loop now; from here on everything is shown at once."""
        if self._is_live:
            return
        self._is_live = True
        for line in list(self._past.values())[-MOST_NAMED:]:
            self._write(line)
        if len(self._past) > MOST_NAMED:
            self._write(Line.of(TextSpan(f"  … and {len(self._past) - MOST_NAMED:,} more in a loop")))
        self._past.clear()

    def _add(self, judgement: Judgement) -> None:
        if not isinstance(outcome := judgement.outcome, Scored):
            return
        session_id = outcome.decision.session_id
        self.sessions.add(session_id)
        if outcome.enriched["eddy"]["verdict"]["level"] == Level.LOOP:
            self.loops.add(session_id)
        for event in outcome.events:
            found = meaning(event.fields)
            if event.topic is None or not found.news or found.alert is None:
                continue
            line = _line(outcome, event.fields)
            if self._is_live:
                self._write(line)
            elif found.level is Level.LOOP and not found.over:
                self._past.pop(session_id, None)
                self._past[session_id] = line
            elif found.over:
                self._past.pop(session_id, None)


def _line(outcome: Scored, fields: Mapping[str, Any]) -> Line:
    found, decision = meaning(fields), outcome.decision
    shown = style(found)
    return Line.of(
        TextSpan(f"{clock(decision.timestamp):<8}  ", "dim"),
        TextSpan(f"{mark(found)} ", shown),
        TextSpan(printable(decision.session_id, 40), shown),
        TextSpan(f" · {printable(decision.agent_id, 24)}" if decision.agent_id else ""),
        TextSpan(f"  {found.alert}: {sentence(fields)}"),
    )
