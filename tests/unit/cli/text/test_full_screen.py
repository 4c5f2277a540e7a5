"""A screen that is painted as a whole."""

import io

import pyte
import pytest
from rich.console import Console
from rich.text import Text

from streams.cli.text.full_screen import FullScreen
from streams.cli.text.line import Line, TextSpan

WIDTH, HEIGHT = 20, 4


class Terminal:
    """A terminal that remembers what was written last, and a program's view of it."""

    def __init__(self, **options: object) -> None:
        self.file = io.StringIO()
        self.console = Console(
            file=self.file,
            width=WIDTH,
            height=HEIGHT,
            force_terminal=True,
            color_system="standard",
            highlight=False,
            **options,  # type: ignore[arg-type]
        )
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        self._stream = pyte.Stream(self.screen)

    def written(self) -> str:
        """Return what was written since the last time."""
        found = self.file.getvalue()
        self.file.seek(0)
        self.file.truncate()
        self._stream.feed(found)
        return found

    def lines(self) -> list[str]:
        """Return what stands there."""
        self.written()
        return [line.rstrip() for line in self.screen.display]


def line(text: str, style: str = "") -> Line:
    return Line((TextSpan(text, style),), cut=True)


def test_lines_are_cut_to_the_screen_and_what_was_longer_before_is_gone() -> None:
    terminal = Terminal()
    screen = FullScreen(terminal.console)
    with screen.shown():
        screen.paint([line("a" * 30), line("two"), Text("three"), line(""), line("too many")])
        assert terminal.lines() == ["a" * 19 + "…", "two", "three", ""]
        screen.paint([line("a"), line(""), line("3"), line("4")])
        assert terminal.lines() == ["a", "", "3", "4"]


@pytest.mark.parametrize(
    "text", ["\U0001f3fb" * 30, "\U0001f1e9\U0001f1ea" * 10], ids=["colours of skin", "flags"]
)
def test_what_a_terminal_draws_wider_than_it_is_counted_stays_in_its_line(text: str) -> None:
    terminal = Terminal()
    screen = FullScreen(terminal.console)
    with screen.shown():
        screen.paint([line("one"), line("two"), line("three")])
        screen.paint([line(text), line("two"), line("three")])
        assert terminal.lines()[1:] == ["two", "three", ""]
    terminal.written()
    assert pyte.modes.DECAWM in terminal.screen.mode


def test_of_what_stands_there_nothing_is_written_again() -> None:
    terminal = Terminal()
    screen = FullScreen(terminal.console)
    with screen.shown():
        screen.paint([line("one"), line("two")])
        terminal.written()
        screen.paint([line("one"), line("two")])
        assert terminal.written() == ""
        screen.paint([line("one"), line("TWO")])
        assert "one" not in terminal.written()
        screen.paint([line("one", "red"), line("TWO")])
        assert "one" in terminal.written()


def test_a_terminal_that_was_given_back_is_painted_again() -> None:
    terminal = Terminal()
    screen = FullScreen(terminal.console)
    for _ in range(2):
        with screen.shown():
            screen.paint([line("one")])
            assert "one" in terminal.written()


def test_an_error_gives_the_terminal_back() -> None:
    terminal = Terminal()
    with pytest.raises(ZeroDivisionError), FullScreen(terminal.console).shown():
        raise ZeroDivisionError
    assert terminal.written() == "\x1b[?1049h\x1b[H\x1b[?25l\x1b[?7l\x1b[?7h\x1b[?1049l\x1b[?25h"


def test_a_text_of_an_agent_is_neither_markup_nor_obeyed() -> None:
    terminal = Terminal()
    screen = FullScreen(terminal.console)
    with screen.shown():
        screen.paint([line("[red]\x1b[2Jx")])
        assert terminal.lines()[0] == r"[red]\x1b[2Jx"


def test_a_terminal_without_unicode_gets_escapes_and_no_ellipsis() -> None:
    written = io.BytesIO()
    file = io.TextIOWrapper(written, encoding="ascii", write_through=True)
    screen = FullScreen(Console(file=file, width=WIDTH, height=HEIGHT, force_terminal=True))
    with screen.shown():
        screen.paint([line("● " + "a" * 30)])
    assert b"\\u25cf " + b"a" * (WIDTH - 7) + b"\x1b" in written.getvalue()


def test_without_colours_the_chosen_row_is_still_marked() -> None:
    terminal = Terminal(no_color=True)
    screen = FullScreen(terminal.console)
    with screen.shown():
        screen.paint([line("chosen", "bold red reverse")])
        assert "\x1b[1;7mchosen" in terminal.written()
