"""A line for people as text of Rich: escaped, as the stream can encode it, and wrapped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TextIO

from rich.console import Console
from rich.text import Text

from streams.cli.text.line import Line, encodable
from streams.core.domain.text.printable import escaped

_ELLIPSIS: Final = "…"
_NARROWEST: Final = 20
"""Columns that wrapped text has at least, whatever its indent."""


def text_of(line: Line, stream: TextIO) -> Text:
    """Return a line with its styles. Nothing in it is read as markup."""
    text = Text.assemble(*((encodable(escaped(span.text), stream), span.style) for span in line.spans))
    text.rstrip()
    return text


def overflow(stream: TextIO) -> Literal["ellipsis", "crop"]:
    """Return how a line is cut: Rich would write an ellipsis that the stream cannot encode, and fail."""
    return "ellipsis" if encodable(_ELLIPSIS, stream) == _ELLIPSIS else "crop"


def wrapped(line: Line, console: Console) -> Iterator[Text]:
    """Yield a line as a terminal shows it: cut is left to the terminal, what is wrapped is indented."""
    text = text_of(line, console.file)  # type: ignore[arg-type]  # a file that Rich writes to
    if line.cut or text.cell_len <= console.width:
        yield text
        return
    indent = line.indent() if console.width - line.indent() >= _NARROWEST else 0
    lead, body = text.divide([indent])[0], text.divide([indent])[-1]
    room = console.width - max(indent, lead.cell_len if indent else 0)
    for each in body.wrap(console, room, overflow="fold"):
        each.rstrip()
        yield lead + each if indent else each
        lead = Text(" " * indent)
