"""The one door to standard output and standard error: a line for people or a JSON document for machines.

Everything that a command says goes through here, whatever its source. A line is escaped, so that no text of
an agent, a file or a broker moves a cursor, hides something or begins a line of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TextIO

import click
import orjson

from streams.cli.text.line import Line, TextSpan, TextTable, encodable
from streams.core.domain.text.printable import escaped, escaped_json

if TYPE_CHECKING:
    from rich.console import Console


def echo(line: Line | str = "", *, err: bool = False) -> None:
    """Write one line to standard output, or to standard error, at once."""
    stream = sys.stderr if err else sys.stdout
    line_writer(stream)(line if isinstance(line, Line) else Line.of(TextSpan(line)))


def echo_lines(lines: Iterable[str | TextTable], *, err: bool = False) -> None:
    """Write several lines; a table fits its cells into the width of a terminal, and is Markdown elsewhere."""
    for line in lines:
        if isinstance(line, str):
            echo(line, err=err)
        elif sys.stdout.isatty():
            _show_table(line)
        else:
            echo_lines(line.markdown(), err=err)


def _show_table(table: TextTable) -> None:
    from rich import box  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as Grid  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    def cell(text: str) -> Text:
        return Text(encodable(escaped(text), sys.stdout))

    grid = Grid(title=cell(table.title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in table.header:
        # The names of rows stay whole: the cells beside them wrap.
        grid.add_column(cell(name), overflow="fold", no_wrap=name == table.header[0])
    for row in table.rows:
        grid.add_row(*map(cell, row))
    _erase_status()
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    console.print()
    console.print(grid)


def status(text: str) -> None:
    """Show a passing line on the terminal of standard error; nothing without one. The next line erases it.

    An empty text erases it now. In CI nothing is shown, terminal or not: what passes would stay in its log.
    """
    if not sys.stderr.isatty() or "CI" in os.environ or os.environ.get("TERM") == "dumb":
        return
    _erase_status()
    if text:
        width = shutil.get_terminal_size().columns
        sys.stderr.write(escaped(text)[: width - 1])
        sys.stderr.flush()
        _Shown.status = True


class _Shown:
    """What stands on the terminal."""

    status = False


def _erase_status() -> None:
    if _Shown.status:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()
        _Shown.status = False


def echo_json(document: Any, *, indented: bool = False) -> None:
    """Write a document to standard output as JSON, on one line unless ``indented``, at once."""
    _erase_status()
    click.echo(json_bytes(document, indented=indented))


def json_bytes(document: Any, *, indented: bool = False) -> bytes:
    r"""Return a document as UTF-8 JSON that a terminal shows and obeys nothing of; it reads back the same.

    >>> json_bytes({"session_id": "\x9b2J"})
    b'{"session_id":"\\u009b2J"}'
    """
    try:
        text = orjson.dumps(document, option=orjson.OPT_INDENT_2 if indented else 0).decode()
    except TypeError:  # half a surrogate pair, a long integer: the standard library writes them
        separators = (",", ": " if indented else ":")
        text = json.dumps(document, indent=2 if indented else None, separators=separators, default=str)
    return escaped_json(text).encode()


def terminal() -> Console | None:
    """Return the terminal of standard output; None for a file, a pipe, and what cannot be painted."""
    if not sys.stdout.isatty() or os.environ.get("TERM", "") in {"", "dumb", "unknown"}:
        return None
    from rich.console import Console  # noqa: PLC0415

    # These would hold whatever size the terminal has, and gets.
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False, _environ=environment)


def standard_output() -> Callable[[Line], None]:
    """Return the function that writes lines to standard output, for many of them."""
    return line_writer(sys.stdout)


def standard_error() -> Callable[[Line], None]:
    """Return the function that writes lines to standard error, for many of them."""
    return line_writer(sys.stderr)


def line_writer(stream: TextIO) -> Callable[[Line], None]:
    """Return the function that writes a line to the stream: wrapped and in colours on a terminal, else plain.

    Nothing in a line is read as markup. A terminal indents what it wraps.
    """
    if not stream.isatty():

        def write_plain(line: Line) -> None:
            _erase_status()
            click.echo(encodable(escaped(line.text).rstrip(), stream), file=stream)

        return write_plain

    # Rich takes 60 ms to import, which a pipe need not pay for.
    from rich.console import Console  # noqa: PLC0415

    from streams.cli.text.rich_text import overflow, wrapped  # noqa: PLC0415

    console = Console(file=stream, highlight=False, markup=False, emoji=False)

    cut = overflow(stream)

    def write_rich(line: Line) -> None:
        _erase_status()
        for text in wrapped(line, console):
            console.print(text, no_wrap=True, overflow=cut)

    return write_rich
