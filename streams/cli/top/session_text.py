"""The page of one session in `eddy top`: why it is listed, what it does, and what to do about it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from rich.text import Text

from streams.cli.text.line import Line, TextSpan
from streams.cli.text.timeline import COLUMNS, step_line
from streams.cli.top.list_text import control, footer, since
from streams.console.read_model.attention import LoopEnding
from streams.console.wording import ago, compact
from streams.core.domain.text.figures import clock, dollars
from streams.core.domain.text.printable import printable
from streams.operate.explain.session_records import scored_again

Content = Mapping[str, Any]

KEYS: Final = "↑↓ scroll   Esc back   q quit"
_LABEL: Final = 10
_LONGEST: Final = 300
#: What a record lacks that a newer worker or another program wrote.
_MISFITS: Final = (KeyError, TypeError, ValueError, AttributeError)


def screenful(page: Sequence[Text], first: int, width: int, height: int) -> list[Line | Text]:
    """Return the part of a page that a screen shows, from its first line on, and a line of what keys do."""
    fit = max(1, height - 1)
    first = furthest(first, len(page), height)
    shown = page[first : first + fit]
    place = "" if len(page) <= fit else f"{first + 1} to {first + len(shown)} of {len(page)}"
    return [*shown, *[Line()] * (fit - len(shown)), footer(KEYS, place, width)]


def furthest(first: int, lines: int, height: int) -> int:
    """Return the first line that is shown if somebody scrolls to this one: a page ends at its last line."""
    return min(first, max(0, lines - max(1, height - 1)))


def page(
    session_id: str,
    row: Content | None,
    steps: Sequence[Mapping[str, Any]],
    now: int,
    *,
    explain: Callable[[str], str],
    stop: str | None,
) -> Iterator[Line]:
    """Yield the lines of the page.

    Args:
        session_id: Id of the session.
        row: As the inbox has it; None if nothing is known against it any more.
        steps: Its newest enriched records.
        now: The moment, ms since 1970.
        explain: Returns the command that explains a session, which is quoted for a shell.
        stop: Command that pauses a session, without its name; None if none can.
    """
    name = printable(session_id, _LONGEST)
    if row is None:
        yield Line.of(TextSpan(name, "bold"), TextSpan("  nothing is known against it any more"))
    else:
        yield from _about(name, row, now, can_pause=stop is not None)
    yield Line()
    yield from _commands(session_id, explain, stop)
    yield Line()
    yield Line.of(TextSpan("The newest steps that were read", "bold"))
    yield COLUMNS
    number: int | None = None
    for record in steps:
        before, number = number, (record.get("eddy") or {}).get("step")
        if before is not None and number is not None and number > before + 1:
            yield Line.of(TextSpan(f"       … {number - before - 1:,} that were not read", "dim"))
        yield _step(record)
    if not steps:
        yield Line.of(TextSpan("   none yet"))


def _about(name: str, row: Content, now: int, *, can_pause: bool) -> Iterator[Line]:
    ending = row["ending"]
    state = f"{row['level'] or 'NORMAL'} for {since(row, now)}" if ending is None else ending
    colour = "green" if ending == LoopEnding.RECOVERED else "bold red"
    yield Line.of(TextSpan(name, "bold"), TextSpan(f"  {state}", colour))
    who = (row["agent_id"], row["agent_type"], row["task_type"])
    yield _fact("agent", " · ".join(dict.fromkeys(printable(each, 80) for each in who if each)))
    if row["goal"]:
        yield _fact("goal", printable(row["goal"], _LONGEST))
    yield _fact("why", row["sentence"])
    spent = [f"{row['records']:,} records"]
    spent += [f"{compact(round(row['tokens']))} tokens"] if row["tokens"] else []
    rate = f"; {compact(row['rate_per_min'])} tokens a minute now" if row["rate_per_min"] else ""
    spent += [dollars(row["cost"])] if row["cost"] else []
    yield _fact("spent", f"{', '.join(spent)} since it began{rate}")
    if (budget := row["budget"]) is not None and budget["tokens_left"] is not None:
        left = "exhausted" if budget["exhausted"] else f"{compact(budget['tokens_left'])} tokens left"
        yield _fact("budget", left)
    if can_pause:
        for each in tuple(control(row)) or (TextSpan(_unasked(row)),):
            yield Line.of(TextSpan(f"{'guard':<{_LABEL}}", "dim"), each, hang=_LABEL)
    yield _fact("seen", f"{clock(row['newest'])} UTC, {ago(row['newest'], now)}")
    for each in row["besides"]:
        yield _fact("also", f"{each['what']}, {ago(each['at'], now)}")


def _unasked(row: Content) -> str:
    guards = row["control"]["guards"][1]
    if not guards:
        return "none has reported: a pause cannot reach this agent"
    return (
        "1 guard, nothing was asked of it" if guards == 1 else f"{guards} guards, nothing was asked of them"
    )


def _commands(session_id: str, explain: Callable[[str], str], stop: str | None) -> Iterator[Line]:
    quoted = printable(shlex.quote(session_id), _LONGEST)
    yield _fact("explain", explain(quoted))
    if stop is not None:
        yield _fact("stop", f'`{stop} {quoted} --why "..."`')


def _fact(name: str, text: str) -> Line:
    return Line.of(TextSpan(f"{name:<{_LABEL}}", "dim"), TextSpan(text), hang=_LABEL)


def _step(record: Mapping[str, Any]) -> Line:
    try:
        scored = scored_again(dict(record))
        return step_line(scored.decision, scored.enriched["eddy"])
    except _MISFITS:
        return Line.of(TextSpan("   a step that this version of Eddy cannot show", "dim"))
