"""Nothing of what others wrote is obeyed by a terminal, hidden by it, or begins a line of its own."""

import io
import json
import re
import sys
import unicodedata
from contextlib import redirect_stdout
from typing import Any

import pytest

from streams.cli.text.line import Line, TextSpan, TextTable
from streams.cli.text.screen import echo_lines, json_bytes, line_writer
from streams.core.domain.text.printable import escaped, escaped_json, printable

HOSTILE = [
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u200b\u200c\u200d\u200e\u200f\u061c\u2028\u2029\u2060\ufeff\u00ad\u3164\u115f",
    *map(chr, range(0x202A, 0x202F)),
    *map(chr, range(0x2066, 0x206A)),
    "\udc9b",
    "\ud800",
    "\U000e0041",
    "\U000e0100",
]


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool, encoding: str = "utf-8") -> None:
        super().__init__()
        self._terminal = terminal
        self._encoding = encoding

    @property
    def encoding(self) -> str:
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal


def written(text: str, *, terminal: bool, encoding: str = "utf-8") -> str:
    stream = Stream(terminal=terminal, encoding=encoding)
    line_writer(stream)(Line.of(TextSpan(text)))
    return stream.getvalue()


@pytest.fixture(autouse=True)
def no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda character: f"U+{ord(character):04X}")
def test_a_character_that_a_terminal_obeys_or_hides_is_an_escape(hostile: str, terminal: bool) -> None:
    shown = written(f"a{hostile}b", terminal=terminal)
    assert hostile not in shown.removesuffix("\n")
    assert shown == f"a{hostile.encode('unicode_escape').decode()}b\n"


def test_every_character_of_unicode_is_shown_or_an_escape() -> None:
    dangerous = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    kept = {c for c in map(chr, range(sys.maxunicode + 1)) if escaped(c) == c}
    assert {c for c in kept if unicodedata.category(c) in dangerous} == set()
    assert {"a", " ", "ä", "漢", "🙂", "é", "ש", "ع"} <= kept


def test_marks_that_pile_up_are_escapes() -> None:
    assert escaped("e\u0301n") == "e\u0301n"
    flood = escaped("e" + "\u0301" * 400)
    assert flood.count("\u0301") == 4
    assert flood.count("\\u0301") == 396


@pytest.mark.parametrize("text", ["x" * 1_000_000, "\x1b" * 1_000, "e" + "\u0301" * 1_000, "\U000e0041" * 99])
def test_a_long_text_is_cut_also_when_it_is_all_escapes(text: str) -> None:
    shown = printable(text, 40)
    assert len(shown) <= 40
    assert shown.endswith("…")


def test_escaping_twice_is_escaping_once() -> None:
    once = escaped("".join(HOSTILE))
    assert escaped(once) == once
    assert once.isprintable()


def test_what_looks_like_markup_is_text_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = "[red]bold[/red] [link=https://x.example]here[/link] :boom:"
    assert written(text, terminal=True) == f"{text}\n"


def test_a_stream_that_cannot_write_a_character_gets_an_escape() -> None:
    assert written("ä → b", terminal=False, encoding="latin-1") == "ä \\u2192 b\n"
    assert written("ä → b", terminal=True, encoding="ascii") == "\\xe4 \\u2192 b\n"


def test_a_terminal_indents_what_it_wraps_to_the_first_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = written("    ▲ loop: " + "word " * 14, terminal=True).splitlines()
    assert [line[:6] for line in shown] == ["    ▲ ", "      ", "      "]
    assert all(len(line) <= 40 and line[6] != " " for line in shown)


@pytest.mark.parametrize("document", ["".join(HOSTILE), {"é": ["".join(HOSTILE), 1, None]}, {"n": 2**80}])
@pytest.mark.parametrize("indented", [True, False])
def test_json_reads_back_the_same_and_holds_nothing_a_terminal_obeys(document: Any, indented: bool) -> None:
    written_down = json_bytes(document, indented=indented).decode()
    assert json.loads(written_down) == document
    assert escaped_json(written_down) == written_down
    assert all(c.isprintable() or c == "\n" for c in written_down)


TABLE = TextTable(
    "[red]Records",
    ("detector", "precision", "recall"),
    [("verdict-warning", "0.99 (0.97 to 1.00)", "\x1b[2J")],
)


def test_a_table_is_markdown_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    echo_lines([TABLE])
    assert capsys.readouterr().out.splitlines()[2:] == [
        "",
        "| detector        | precision           | recall  |",
        "| --------------- | ------------------- | ------- |",
        "| verdict-warning | 0.99 (0.97 to 1.00) | \\x1b[2J |",
    ]


def test_a_table_fits_a_narrow_terminal_and_obeys_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    terminal = Stream(terminal=True)
    with redirect_stdout(terminal):
        echo_lines([TABLE])
    shown = re.sub(r"\x1b\[\d*m", "", terminal.getvalue()).splitlines()
    assert shown[1].strip() == "[red]Records"
    assert all(len(line) <= 40 and line.isprintable() for line in shown)
    assert [line for line in shown if "verdict-warning" in line], shown
