"""Where lines go: a terminal, in colours and cut to its width, or anything else, as plain text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from streams.cli.timeline import Line


def line_writer(stream: TextIO) -> Callable[[Line], None]:
    """The function that writes a line to the stream. Nothing in a line is read as markup."""
    if not stream.isatty():

        def write_plain(line: Line) -> None:
            stream.write("".join(span.text for span in line.spans).rstrip() + "\n")

        return write_plain

    # Rich takes 60 ms to import, which a pipe need not pay for.
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(file=stream, highlight=False, markup=False, emoji=False)

    def write_rich(line: Line) -> None:
        text = Text.assemble(*line.spans)
        console.print(text, no_wrap=line.cut, overflow="ellipsis" if line.cut else "fold")

    return write_rich
