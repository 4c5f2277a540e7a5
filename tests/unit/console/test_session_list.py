"""The list of sessions: which of them a filter finds."""

from pathlib import Path
from typing import Any

import pytest

from streams.console.archive.archive import Archive
from streams.console.file_board import FileBoard
from streams.console.inbox import SessionQuery, sessions
from streams.core.detectors.settings import DEFAULTS
from streams.core.offline import judge
from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS
from tests.unit.console.agents import HOUR_MS, Board
from tests.unit.console.following import following

FOUND = {
    "refund": ["ticket-48213-refund"],
    "REFUND support-02": ["ticket-48213-refund"],
    "agent:support level:loop": ["ticket-48213-refund"],
    "question:none": [],
}
IN_GOALS = {"heat pump night": ["research-heatpump-77b0"], "question refund": ["ticket-48213-refund"]}


@pytest.fixture(scope="module")
def files() -> FileBoard:
    board = FileBoard("files", "files", DEFAULTS)
    for recording in RECORDINGS:
        if recording.name in ("same_call", "paraphrased_loop"):
            for judgement in judge(entries([str(recording.path)], recording.input_format), DEFAULTS):
                board.add(judgement)
    return board


@pytest.mark.parametrize("words", FOUND | IN_GOALS)
def test_each_word_of_a_filter_is_looked_for_in_all_names_and_in_goals_where_that_is_allowed(
    files: FileBoard, words: str
) -> None:
    def found(**more: str) -> list[str]:
        return [row["session_id"] for row in files.sessions({"q": words, **more}, 0)["rows"]]

    assert found(goals="1") == (FOUND | IN_GOALS)[words]
    assert found() == FOUND.get(words, [])


def test_an_id_with_a_colon_is_a_text_and_a_list_without_rows_says_what_the_filter_knows(
    files: FileBoard,
) -> None:
    found = files.sessions({"q": "set::7"}, 0)
    assert found["rows"] == []
    assert "agent: and level:" in found["empty_text"]


def test_the_list_of_a_job_looks_in_traces_tasks_and_goals_too() -> None:
    board = Board()
    board.act("s-1", intent="look")
    board.act("s-2", intent="look")
    board.model.cases["s-1"].session.goal = "Mend the parser"
    board.model.cases["s-2"].session.task_type = "bugfix"

    def found(text: str, **more: str) -> list[str]:
        rows = sessions(board.model, SessionQuery.parse({"q": text, **more}), board.now).rows
        return sorted(row["session_id"] for row in rows)

    assert found("BUGFIX") == ["s-2"]
    assert found("t1 s-1") == ["s-1"], "every word, each anywhere"
    assert (found("parser"), found("the parser", goals="1")) == ([], ["s-1"])


@pytest.fixture
def archived(tmp_path: Path) -> Board:
    """A board whose sessions are in the archive alone."""
    board = Board()
    board.act("s-1", intent="look")
    board.act("s-2", intent="look")
    board.model.cases["s-1"].session.goal = "Mend the <b>parser</b>"
    archive = Archive(tmp_path / "archive")
    archive.save(board.model.drain(), ()).result()
    archive.close()
    return board


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", ["s-1", "s-2"]),
        ("q=Parser+mend", ["s-1"]),
        ("q=s-2", ["s-2"]),
        ("q=nobody", []),
        ("q=agent:a*", ["s-1", "s-2"]),
        ("q=agent:writer*", []),
        ("q=since:1h", []),
        ("q=level:LOOP", []),
    ],
)
async def test_sessions_that_are_in_memory_no_more_are_listed_as_older_ones(
    tmp_path: Path, archived: Board, query: str, wanted: list[str]
) -> None:
    async with following(tmp_path, (), archived.now + 2 * HOUR_MS) as reader:
        found: Any = await reader.json(f"/sessions?{query}")
        page = await reader.page(f"/sessions?{query}")
    assert found["rows"] == []
    assert sorted(row["session_id"] for row in found["older"]) == wanted
    assert ("<b>parser" in page, "&lt;b&gt;parser" in page) == (False, "s-1" in wanted)
    assert ("No session matches." in page) == (wanted == [])


async def test_who_may_not_read_goals_finds_no_older_session_by_its_goal(
    tmp_path: Path, archived: Board
) -> None:
    hidden = {"console_viewer_sees": "digests", "viewer": True}
    async with following(tmp_path, (), archived.now + 2 * HOUR_MS, **hidden) as reader:  # type: ignore[arg-type]
        found: Any = await reader.json("/sessions?q=parser")
        named: Any = await reader.json("/sessions?q=s-1")
    assert found["older"] == []
    assert "parser" not in str(named["older"])


async def test_a_list_of_older_sessions_that_is_cut_says_so(tmp_path: Path) -> None:
    board = Board()
    for number in range(60):
        board.act(f"s-{number}", intent="look")
    archive = Archive(tmp_path / "archive")
    archive.save(board.model.drain(), ()).result()
    archive.close()
    async with following(tmp_path, (), board.now + 2 * HOUR_MS) as reader:
        found: Any = await reader.json("/sessions")
        every, one = await reader.page("/sessions"), await reader.page("/sessions?q=s-59")
    assert (len(found["older"]), found["older"][0]["session_id"]) == (50, "s-59")
    assert ("Only the newest ones" in every, "Only the newest ones" in one) == (True, False)
