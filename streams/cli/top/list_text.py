"""The list of `eddy top`: what loops now, worst first, two lines a session, for any width and height."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.cells import cell_len, set_cell_size

from streams.cli.text.line import Line, TextSpan
from streams.cli.top.picture import Picture
from streams.cli.top.view import TopView
from streams.console.read_model.attention import SILENT_MS
from streams.console.wording import ago, compact
from streams.core.domain.text.figures import clock, count, dollars, has_time
from streams.core.domain.text.printable import printable

Content = Mapping[str, Any]

LINES_OF_A_ROW: Final = 2
#: Above and below the rows: three lines of totals, the titles, and one that says what keys do.
_AROUND: Final = 5
_MARKS: Final = {
    "critical": ("●", "bold red"),
    "high": ("●", "yellow"),
    "medium": ("▲", "yellow"),
}
_HANDLED: Final = ("■", "cyan")
_LEVELS: Final = {"LOOP": "bold red", "WARNING": "yellow"}
_MANY_DAYS: Final = 100
_VERDICT, _SINCE, _RECORDS, _TOKENS, _COST, _SEEN = 7, 6, 7, 6, 7, 6
_FIXED: Final = _VERDICT + _SINCE + _RECORDS + _TOKENS + _COST + _SEEN + 6
_MARK: Final = 2
_WIDEST_SESSION: Final = 48
_WIDEST_AGENT: Final = 30
_NARROWEST: Final = 72
KEYS: Final = "↑↓ choose   Enter look closer   n not a loop   q quit"


def rows_that_fit(height: int) -> int:
    """Return how many sessions a screen of this height shows."""
    return max(1, (height - _AROUND) // LINES_OF_A_ROW)


def list_lines(picture: Picture, view: TopView, width: int, height: int) -> list[Line]:
    """Return the lines of a screen, as many as it has.

    Args:
        picture: What is so now.
        view: Which row is chosen, and which is the first.
        width: How many characters a line of the screen has.
        height: How many lines it has.
    """
    fit = rows_that_fit(height)
    shown = picture.rows[view.first : view.first + fit]
    lines = [*heading(picture, width), titles(width)]
    for each in shown:
        lines += row_lines(each, picture.as_of, width, is_chosen=each["session_id"] == view.chosen)
    if not picture.rows:
        lines += [Line(), Line.of(TextSpan(f"  {picture.empty}"))]
    lines = lines[: height - 1]
    lines += [Line()] * (height - 1 - len(lines))
    return [*lines, footer(KEYS, _place(picture, view.first, len(shown)), width)]


def snapshot(picture: Picture, width: int) -> Iterator[Line]:
    """Yield everything, for a terminal that cannot be painted, a file or a pipe."""
    yield from heading(picture, width)
    yield titles(width)
    for each in picture.rows:
        yield from row_lines(each, picture.as_of, width, is_chosen=False)
    if not picture.rows:
        yield Line.of(TextSpan(f"  {picture.empty}"))


def heading(picture: Picture, width: int) -> list[Line]:
    """Return the three lines of what is read, how many sessions loop, and how fresh that is."""
    name = TextSpan(picture.reading.program, "bold")
    source = f"  {printable(picture.reading.source, 200)}"
    at = f"{clock(picture.as_of)} UTC"
    room = max(0, width - len(name.text) - len(at) - 1)
    first = Line((name, TextSpan(set_cell_size(source, room)), TextSpan(f" {at}", "dim")), cut=True)
    return [first, Line(tuple(_counts(picture)), cut=True), Line(tuple(_freshness(picture)), cut=True)]


def _counts(picture: Picture) -> Iterator[TextSpan]:
    yield TextSpan(f"{picture.loop:,} in a loop", _LEVELS["LOOP"] if picture.loop else "bold green")
    if picture.may_loop:
        yield TextSpan(f", {picture.may_loop:,} may loop", _LEVELS["WARNING"])
    if picture.other:
        yield TextSpan(f", {picture.other:,} need a look for another reason")
    if picture.handled:
        yield TextSpan(f", {picture.handled:,} handled", _HANDLED[1])
    spent = [f"{compact(round(picture.tokens))} tokens"] if picture.tokens else []
    spent += [dollars(picture.cost)] if picture.cost else []
    if spent:
        yield TextSpan(f" · {', '.join(spent)} since the loops began")
    if picture.live is not None:
        yield TextSpan(f" · {count(picture.live, 'session')} live")


def _freshness(picture: Picture) -> Iterator[TextSpan]:
    behind, newest = picture.reading.behind, picture.newest
    if behind is None:
        yield TextSpan("reading ...", "yellow")
    elif behind:
        yield TextSpan(f"{count(behind, 'record')} behind", "yellow")
    else:
        yield TextSpan("up to date", "dim")
    if newest is not None:
        is_old = picture.as_of - newest > SILENT_MS
        yield TextSpan(f" · newest record {ago(newest, picture.as_of)}", "yellow" if is_old else "dim")
    if picture.silent:
        yield TextSpan(f" · {picture.silent:,} silent for long, left out", "dim")
    if picture.reading.notices:
        yield TextSpan(f" · {printable(picture.reading.notices[-1], 300)}", "yellow")


def titles(width: int) -> Line:
    """Return the titles of the columns."""
    session, agent = _widths(width)
    words = (
        f"{'SESSION':<{session}} {'AGENT':<{agent}} {'VERDICT':<{_VERDICT}} {'SINCE':>{_SINCE}} "
        f"{'RECORDS':>{_RECORDS}} {'TOKENS':>{_TOKENS}} {'COST':>{_COST}} {'SEEN':>{_SEEN}}"
    )
    return Line((TextSpan(f"{'':<{_MARK}}{words}", "dim"),), cut=True)


def row_lines(row: Content, now: int, width: int, *, is_chosen: bool) -> list[Line]:
    """Return the two lines of a session: who and how much; then whether it is stopped, and what it does."""
    session, agent = _widths(width)
    sign, style = _HANDLED if row["tab"] == "handled" else _MARKS[row["class"]]
    level = row["level"] or "NORMAL"
    chosen = "reverse" if is_chosen else ""
    figures = (
        f" {since(row, now):>{_SINCE}} {row['records']:>{_RECORDS},} "
        f"{compact(round(row['tokens'])) if row['tokens'] else '':>{_TOKENS}} "
        f"{dollars(row['cost']) if row['cost'] else '':>{_COST}} {age(now - row['newest']):>{_SEEN}}"
    )
    about = (
        TextSpan(f"{sign:<{_MARK}}", style),
        TextSpan(fitted(row["session_id"], session), f"bold {chosen}".strip()),
        TextSpan(f" {fitted(row['agent_id'] or '', agent)} ", chosen),
        TextSpan(f"{level:<{_VERDICT}}", f"{_LEVELS.get(level, 'dim')} {chosen}".strip()),
        TextSpan(figures, chosen),
    )
    stopped = (TextSpan(f"{each.text} · ", each.style) for each in control(row))
    says = (TextSpan(f"{'':<{_MARK}}  "), *stopped, TextSpan(row["what"]))
    return [Line(about, cut=True), Line(says)]


def control(row: Content) -> Iterator[TextSpan]:
    """Yield what became of a command to the agent, if there was one, and what people decided."""
    state, label = row["control"]["state"], row["control"]["label"]
    if row["control"]["after_pause"]:
        yield TextSpan(label, _LEVELS["LOOP"])
    elif state != "none":
        yield TextSpan(label, _HANDLED[1])
    if row["triage"]["state"] != "open":
        yield TextSpan(
            f"{row['triage']['state']} by {printable(row['triage']['by'] or '?', 40)}", _HANDLED[1]
        )


def footer(keys: str, place: str, width: int) -> Line:
    """Return the last line of a screen: what keys do, and which part is shown."""
    room = max(0, width - cell_len(place) - 1)
    return Line((TextSpan(set_cell_size(keys, room), "dim"), TextSpan(f" {place}", "dim")), cut=True)


def _place(picture: Picture, first: int, shown: int) -> str:
    if shown == len(picture.rows):
        return ""
    return f"{first + 1} to {first + shown} of {len(picture.rows)}"


def since(row: Content, now: int) -> str:
    """Return for how long it has been so, as far as the log has times."""
    began = (row["first"] or {"at": row["newest"]})["at"]
    return age(now - began) if has_time(began) else "-"


def age(ms: int) -> str:
    """Return a length of time in six characters at most.

    >>> [age(ms) for ms in (-5, 41_000, 131_000, 7_320_000, 180_000_000, 9_000_000_000)]
    ['0s', '41s', '2m11s', '2h02m', '2d02h', '104d']
    """
    seconds = max(0, ms) // 1000
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if minutes == 0:
        return f"{seconds}s"
    if hours == 0:
        return f"{minutes}m{seconds % 60:02}s"
    if days == 0:
        return f"{hours}h{minutes % 60:02}m"
    return f"{days}d{hours % 24:02}h" if days < _MANY_DAYS else f"{days}d"


def fitted(text: str, width: int) -> str:
    """Return a text of an agent in so many cells of a terminal; an ellipsis stands for what is cut."""
    shown = printable(text, max(2, width))
    while cell_len(shown) > width:
        shown = printable(shown, len(shown) - 1)
    return set_cell_size(shown, width)


def _widths(width: int) -> Sequence[int]:
    """Return the cells of the columns of the session and the agent."""
    room = max(_NARROWEST, width) - _MARK - _FIXED - 1
    agent = min(_WIDEST_AGENT, room // 3)
    return min(_WIDEST_SESSION, room - agent), agent
