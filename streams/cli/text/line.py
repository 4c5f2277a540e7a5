"""A line for people: pieces of text, each with the way a terminal shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TextIO

from streams.core.domain.text.printable import escaped

_INDENTED: Final = re.compile(r"[^\w\"“'(\[/\\-]*")
_LEAST_HANG: Final = 2


class TextSpan(NamedTuple):
    """A piece of a line, and how a terminal shows it."""

    text: str
    style: str = ""


class TextTable(NamedTuple):
    """Rows below a header, with a title. As text it is Markdown, which documents take as it is."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> Iterator[str]:
        """Yield the lines, the columns padded to their widest cell."""
        yield ""
        yield f"**{self.title}**"
        yield ""
        rows = [[escaped(cell) for cell in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(self.header, *rows, strict=True)]
        for line in (self.header, ["-" * width for width in widths], *rows):
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            yield f"| {' | '.join(cells)} |"


class Line(NamedTuple):
    """A line.

    Attributes:
        spans: Pieces, each of one style.
        cut: whether a narrow terminal cuts its end instead of wrapping it.
        hang: columns by which a terminal indents what it wraps; None for where the first word begins.
    """

    spans: tuple[TextSpan, ...] = ()
    cut: bool = False
    hang: int | None = None

    @classmethod
    def of(cls, *spans: TextSpan, hang: int | None = None) -> Line:
        """Make a line that is shown whole."""
        return cls(spans, hang=hang)

    @property
    def text(self) -> str:
        """The line without its styles."""
        return "".join(span.text for span in self.spans)

    def indent(self) -> int:
        """Return the columns by which a terminal indents what it wraps.

        >>> Line.of(TextSpan("  ▲ s-1: a loop")).indent(), Line.of(TextSpan("5 records")).indent()
        (4, 2)
        """
        if self.hang is not None:
            return self.hang
        begins = _INDENTED.match(self.text)
        return max(_LEAST_HANG, begins.end() if begins else 0)


def encodable(text: str, stream: TextIO) -> str:
    """Return the text with escapes for what the stream cannot encode."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
