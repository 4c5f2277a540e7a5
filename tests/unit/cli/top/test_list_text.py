"""The list of `eddy top` as it stands on terminals of two sizes, and what agents cannot do to it."""

import io
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from streams.cli.text.rich_text import wrapped
from streams.cli.top.list_text import fitted, list_lines, rows_that_fit, snapshot
from streams.cli.top.picture import Picture, ReadingProgress, picture, row_of
from streams.cli.top.session_text import page, screenful
from streams.cli.top.view import TopView
from tests.stream import START_MS
from tests.unit.console.agents import HOUR_MS, Board

READING = ReadingProgress("kafka-1:9092,kafka-2:9092", 0)


@cache
def board() -> Board:
    """Return a board on which one agent loops, one is paused, and one works."""
    found = Board()
    found.loop("ticket-48213-refund", 20, agent="support-17")
    found.loop("explain-billing-config-d4c2-of-the-second-tenant", 6, agent="coder-19-in-a-long-named-pool")
    pause = found.take(found.topics.command("pause", "ticket-48213-refund", found.now))
    for status in ("received", "applied"):
        found.take(found.topics.ack(status, pause, "ticket-48213-refund", found.now))
    found.work("s-fine", 2)
    return found


@cache
def taken() -> Picture:
    return picture(board().model, READING, board().now, HOUR_MS)


def shown(width: int, height: int, view: TopView = TopView()) -> str:  # noqa: B008  # frozen
    lines = list_lines(taken(), view, width, height)
    assert len(lines) == height
    return "\n".join(line.text.rstrip() for line in lines)


NARROW = """\
eddy top  kafka-1:9092,kafka-2:9092                                 22:13:48 UTC
1 in a loop, 1 handled · 2.5k tokens since the loops began · 3 sessions live
up to date · newest record now
  SESSION                AGENT      VERDICT  SINCE RECORDS TOKENS    COST   SEEN
● explain-billing-confi… coder-19-… LOOP        7s       4   2.5k             2s
    search: the same call with the same result, 6 times in a row (R1)
■ ticket-48213-refund    support-17 LOOP       27s      18   9.5k             8s
    paused 0:02 · search: the same call with the same result, 20 times in a row (R1)
"""
WIDE = """\
eddy top  kafka-1:9092,kafka-2:9092                                                                                             22:13:48 UTC
1 in a loop, 1 handled · 2.5k tokens since the loops began · 3 sessions live
up to date · newest record now
  SESSION                                          AGENT                          VERDICT  SINCE RECORDS TOKENS    COST   SEEN
● explain-billing-config-d4c2-of-the-second-tenant coder-19-in-a-long-named-pool  LOOP        7s       4   2.5k             2s
    search: the same call with the same result, 6 times in a row (R1)
■ ticket-48213-refund                              support-17                     LOOP       27s      18   9.5k             8s
    paused 0:02 · search: the same call with the same result, 20 times in a row (R1)
"""  # noqa: E501


def explained(session: str) -> str:
    return f"`explain {session}`"


FOOTER = "↑↓ choose   Enter look closer   n not a loop   q quit"


@pytest.mark.parametrize(("width", "height", "rows"), [(80, 24, NARROW), (140, 40, WIDE)])
def test_it_fills_a_terminal(width: int, height: int, rows: str) -> None:
    assert shown(width, height) == rows + "\n" * (height - 9) + FOOTER


@given(st.integers(1, 200), st.integers(1, 60), st.integers(0, 30))
def test_any_size_has_as_many_lines_as_it_says(width: int, height: int, first: int) -> None:
    shown(width, height, TopView(first=first))


def test_what_does_not_fit_is_counted_and_the_chosen_row_is_marked() -> None:
    found = Board()
    for number in range(20):
        found.loop(f"s-{number:02}", 4)
    many = picture(found.model, READING, found.now, HOUR_MS)
    fit = rows_that_fit(24)
    assert fit == 9
    lines = list_lines(many, TopView("s-05", 5, first=2), 80, 24)
    assert lines[-1].text.endswith(" 3 to 11 of 20")
    (chosen,) = [line for line in lines if any("reverse" in span.style for span in line.spans)]
    assert "s-05" in chosen.text


def test_without_a_terminal_everything_is_written_and_nothing_is_cut() -> None:
    lines = [line.text.rstrip() for line in snapshot(taken(), 80)]
    assert lines == NARROW.splitlines()


EMPTY = Picture(
    reading=ReadingProgress("here", 12_304, ("09:14:02 The brokers do not answer",)),
    as_of=START_MS,
    newest=START_MS - 720_000,
    live=0,
    loop=0,
    may_loop=2,
    other=1,
    handled=0,
    silent=3,
    tokens=0,
    cost=0.41,
    empty="No record for 12 min. Whether a session is in a loop is not known.",
    rows=(),
)


def test_silence_lag_and_trouble_are_said() -> None:
    lines = [line.text.rstrip() for line in list_lines(EMPTY, TopView(), 100, 8)]
    assert lines[1] == (
        "0 in a loop, 2 may loop, 1 need a look for another reason · $0.41 since the loops began"
        " · 0 sessions live"
    )
    assert lines[2] == (
        "12,304 records behind · newest record 12 min ago · 3 silent for long, left out · "
        "09:14:02 The brokers do not answer"
    )
    assert lines[5] == "  No record for 12 min. Whether a session is in a loop is not known."


ATTACK = "\x1b[2J\x1b]0;owned\x07[bold red]x[/]\u202egnp\u200b\r\n\x9b31m"


def attacked() -> tuple[Board, Any]:
    found = Board()
    for _ in range(5):
        found.act(ATTACK, agent=ATTACK, tool=ATTACK, tool_input=ATTACK, error=ATTACK, intent=ATTACK)
    return found, row_of(found.model, ATTACK, found.now)


def test_nothing_that_an_agent_writes_moves_a_cursor_or_is_markup() -> None:
    found, row = attacked()
    attack = picture(found.model, ReadingProgress(ATTACK, 0, (ATTACK,)), found.now, HOUR_MS)
    screen = Console(file=io.StringIO(), width=80, height=24, force_terminal=True, highlight=False)
    steps = [told.fields for told in found.done(ATTACK, agent=ATTACK, tool=ATTACK) if told.fields]
    about = page(ATTACK, row, steps, found.now, explain=explained, stop="eddy session pause")
    lines = [*list_lines(attack, TopView(), 80, 24), *about]
    texts = [text.plain for line in lines for text in wrapped(line, screen)]
    assert all(text.isprintable() for text in texts)
    assert any("[bold red]x[/]" in text for text in texts)
    assert not any("\u202e" in text for text in texts)


@given(st.text(), st.integers(2, 60))
def test_a_cell_is_as_wide_as_its_column(text: str, width: int) -> None:
    assert cell_len(fitted(text, width)) == width


def test_a_page_says_why_what_to_do_and_the_newest_steps() -> None:
    found, name = board(), "ticket-48213-refund"
    later = found.now + 1_000
    steps = [told.fields for told in Board().done(name, agent="support-17", tool="search") if told.fields]
    lines = page(
        name, row_of(found.model, name, later), steps[:1], later, explain=explained, stop="eddy session pause"
    )
    text = "\n".join(line.text.rstrip() for line in lines)
    lines_of_text = text.splitlines()
    assert lines_of_text[:2] == [f"{name}  LOOP for 28s", "agent     support-17 · coder"]
    assert lines_of_text[2].startswith("why       goes on: search: the same call with the same result, 20 ")
    assert "guard     paused 0:03" in lines_of_text
    at = lines_of_text.index(f"explain   `explain {name}`")
    assert lines_of_text[at + 1] == f'stop      `eddy session pause {name} --why "..."`'
    assert text.splitlines()[-1].endswith("failure  search · search")


def test_steps_that_were_not_read_are_counted() -> None:
    steps = [{"eddy": {"step": number}} for number in (1, 2, 9, None, 10)]
    text = [line.text for line in page("s", None, steps, 0, explain=explained, stop="eddy session pause")]
    assert [line.strip() for line in text if "not read" in line] == ["… 6 that were not read"]


def test_a_page_of_files_offers_no_pause_and_one_of_a_forgotten_session_says_so() -> None:
    text = "\n".join(line.text for line in page("s", None, [{}], 0, explain=explained, stop=None))
    assert text.startswith("s  nothing is known against it any more")
    assert "pause" not in text
    assert "a step that this version of Eddy cannot show" in text


def test_a_page_is_scrolled_to_its_last_line_and_no_further() -> None:
    screen = Console(file=io.StringIO(), width=80, height=24)
    texts = [
        text
        for line in page("s", None, [{}] * 10, 0, explain=explained, stop=None)
        for text in wrapped(line, screen)
    ]
    lines = screenful(texts, 99, 80, 6)
    assert len(lines) == 6
    assert "cannot show" in str(getattr(lines[4], "plain", ""))
    assert getattr(lines[5], "text", "").endswith(f"{len(texts) - 4} to {len(texts)} of {len(texts)}")
