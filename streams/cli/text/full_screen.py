"""A screen that is painted as a whole, and the keys of its terminal, which is as it was afterwards."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.text import Text

from streams.cli.text.line import Line
from streams.cli.text.rich_text import overflow, text_of, wrapped

_MOST_BYTES = 1024


@contextmanager
def keyboard(typed: Callable[[bytes], None]) -> Iterator[None]:
    """Pass on what is typed, at once and without showing it; no bytes say that the terminal is gone.

    Signals stay as they are: Ctrl-C interrupts and Ctrl-Z suspends. If standard input is no terminal, no key
    comes.
    """
    if not sys.stdin.isatty():
        yield
        return
    descriptor, loop = sys.stdin.fileno(), asyncio.get_running_loop()

    def read() -> None:
        try:
            found = os.read(descriptor, _MOST_BYTES)
        except OSError:
            found = b""
        if not found:
            loop.remove_reader(descriptor)
        typed(found)

    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor, termios.TCSANOW)
    try:
        loop.add_reader(descriptor, read)
        yield
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSANOW, before)


#: DECAWM, which all terminals begin with.
_WRAP_OFF: Final = "\x1b[?7l"
_WRAP_ON: Final = "\x1b[?7h"


class FullScreen:
    """Paints lines, as many as the terminal has. Of a line that stands there already it writes nothing.

    Args:
        console: Terminal that it is drawn on.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._painted: list[Text] = []
        self._painted_size = (0, 0)

    @property
    def size(self) -> tuple[int, int]:
        """How many columns and lines it has now."""
        return self._console.size

    def laid_out(self, lines: Iterable[Line]) -> list[Text]:
        """Return lines as they are shown: what is longer than the screen is wide is wrapped."""
        return [text for line in lines for text in wrapped(line, self._console)]

    def paint(self, lines: Sequence[Line | Text]) -> None:
        """Show these lines; what is wider than the screen is cut."""
        width, height = size = self.size
        before = self._painted if size == self._painted_size else []
        self._painted, self._painted_size = [self._text(line, width) for line in lines[:height]], size
        options = self._console.options.update_width(width)
        for at, text in enumerate(self._painted):
            if at >= len(before) or text != before[at]:
                self._console.update_screen_lines(self._console.render_lines(text, options), y=at)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Take the whole terminal, and give it back as it was, whatever happens in the block."""
        self._painted = []
        with self._console.screen(hide_cursor=True), self._without_wrapping():
            yield

    @contextmanager
    def _without_wrapping(self) -> Iterator[None]:
        """Keep each line in its own: a terminal may draw characters wider than Rich counts them."""
        self._write(_WRAP_OFF)
        try:
            yield
        finally:
            self._write(_WRAP_ON)

    def _write(self, control: str) -> None:
        self._console.file.write(control)
        self._console.file.flush()

    def _text(self, line: Line | Text, width: int) -> Text:
        text = text_of(line, self._console.file) if isinstance(line, Line) else line.copy()  # type: ignore[arg-type]
        text.no_wrap = True
        text.truncate(width, overflow=overflow(self._console.file))  # type: ignore[arg-type]
        return text
