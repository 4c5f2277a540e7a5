"""Long work shows on a terminal how far it is, and leaves no trace of that anywhere."""

import io
from collections.abc import Iterator
from contextlib import redirect_stderr

import pytest

from streams.cli.text.progress import watched
from streams.cli.text.screen import echo

ERASE = "\r\x1b[2K"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def seconds() -> Iterator[float]:
    """A clock on which a second passes between two looks."""
    now = 0.0
    while True:
        yield now
        now += 1.0


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("CI", raising=False)
    return Terminal()


def work(total: int | None = None) -> None:
    assert list(watched(range(200), "judging", total=total, clock=seconds().__next__)) == list(range(200))


def test_a_terminal_shows_one_line_that_is_erased_at_the_end(terminal: Terminal) -> None:
    with redirect_stderr(terminal):
        work(total=200)
    shown = terminal.getvalue().split(ERASE)
    assert shown[0] == "judging: 64 of 200 records (32%), 64 per second, 2 s left"
    assert shown[-1] == ""
    assert "\n" not in terminal.getvalue()


def test_a_line_of_output_erases_it_first(terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    items = watched(range(200), "judging", clock=seconds().__next__)
    with redirect_stderr(terminal):
        for _ in range(64):
            next(items)
        assert terminal.getvalue().startswith("judging: 64 records")
        echo("a finding")
    assert terminal.getvalue().endswith(ERASE)
    assert capsys.readouterr().out == "a finding\n"


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("TERM", "dumb")])
def test_ci_and_a_dumb_terminal_show_nothing(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with redirect_stderr(terminal):
        work()
    assert terminal.getvalue() == ""


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    work()
    assert capsys.readouterr() == ("", "")
