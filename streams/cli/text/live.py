"""What is judged while it happens, and what was read, for people: a line for each, at once."""

from __future__ import annotations

import asyncio
import html
import logging
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

from streams.cli.text.line import Line, TextSpan
from streams.cli.text.timeline import mark, style
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.level import Level
from streams.core.domain.outcome import Scored
from streams.core.domain.text.figures import clock, count
from streams.core.domain.text.printable import printable
from streams.core.entry import Entry, session_key
from streams.core.errors import ConfigurationError
from streams.core.offline import MOST_FOLLOWED, Judge, Judgement
from streams.formats.ingest.ingestion import FormatAccount, IngestAccount
from streams.formats.ingest.sink import SentRecord
from streams.operate.explain.explanation import meaning, sentence

log = logging.getLogger(__name__)

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


#: Shows a person a title and a text.
Tell: TypeAlias = Callable[[str, str], Awaitable[None]]

_DESKTOP_SECONDS: Final = 5.0


class Desktop:
    """Notices on the desktop of this machine, by the program `notify-send` of freedesktop.org.

    Raises:
        ConfigurationError: it is not installed.
    """

    def __init__(self) -> None:
        found = shutil.which("notify-send")
        if found is None:
            raise ConfigurationError(
                "Notices on the desktop need the program notify-send: apt-get install libnotify-bin."
            )
        self._program = found
        self._fails = False

    async def tell(self, title: str, text: str) -> None:
        """Show a notice; one that cannot be shown is logged, the first time that it is so."""
        # The text may have markup, and what agents wrote is none.
        words = (self._program, "-a", "Eddy", "-u", "critical", "--", title, html.escape(text))
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            _, said = await asyncio.wait_for(process.communicate(), _DESKTOP_SECONDS)
        except TimeoutError:
            said = b"no answer within 5 s"
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode != 0 and not self._fails:
            log.warning(
                "The desktop shows no notice: %s", printable(said.decode(errors="replace").strip(), 200)
            )
        self._fails = process.returncode != 0


class LiveAlerts:
    """A sink that judges records and writes alerts that say something new.

    Until `catch_up` is called, records are the past: then only sessions that are in a loop are named.

    Args:
        write: Takes a line to show.
        settings: Settings that alerts are made under.
        tell: Told once of each loop that is found live.
    """

    def __init__(
        self, write: Callable[[Line], None], settings: DetectionSettings, tell: Tell | None = None
    ) -> None:
        self._write = write
        self._tell = tell
        self._told: set[str] = set()
        self._judge = Judge(settings, MOST_FOLLOWED)
        self._is_live = False
        self._past: dict[str, Line] = {}
        self.sessions: set[str] = set()
        self.loops: set[str] = set()

    async def write(self, records: Sequence[SentRecord]) -> None:
        """Judge records."""
        for each in records:
            await self._add(self._judge.judge(Entry(session_key(each.value), None, each.value, None)))

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

    async def _add(self, judgement: Judgement) -> None:
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
                await self._show(outcome, event.fields)
            elif found.level is Level.LOOP and not found.over:
                self._past.pop(session_id, None)
                self._past[session_id] = line
            elif found.over:
                self._past.pop(session_id, None)

    async def _show(self, outcome: Scored, fields: Mapping[str, Any]) -> None:
        found, session_id = meaning(fields), outcome.decision.session_id
        if found.over:
            self._told.discard(session_id)
        elif self._tell is not None and found.level is Level.LOOP and session_id not in self._told:
            self._told.add(session_id)
            who = printable(outcome.decision.agent_id or session_id, 40)
            await self._tell(f"{who} goes in circles", f"{printable(session_id, 40)}: {sentence(fields)}")


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
