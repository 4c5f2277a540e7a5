"""The page of changes: what began, how it ended, and what people did, since a moment."""

from pathlib import Path
from typing import Any

import pytest

from streams.console.archive.archive import Archive
from streams.console.interventions.decided import PASSED_ON, concluded
from streams.console.read_model.tables import EPISODE
from streams.console.views.changes import changes, since_of
from streams.control.audit import Result
from streams.core.errors import ConfigurationError
from streams.core.policy.intervention import InterventionAct
from tests.unit.console.agents import HOUR_MS, Board
from tests.unit.console.following import following
from tests.unit.console.interventions.test_decided import RULE, as_row, claim, row
from tests.unit.console.test_audit_page import done
from tests.unit.console.told import Topics, everything

AT = 1_760_000_000_000


def said(board: Board, since: int) -> tuple[list[str], str]:
    model = board.model
    episodes = [case.current(row) for case in model.cases.values() for row in case.episodes.values()]
    found = changes(episodes, model.ledger.actions.values(), since, "")
    return [f"{row['session_id']} {row['what']}" for row in found["rows"]], found["lead"]


def test_loops_that_began_and_ended_and_what_people_did_are_told_newest_first() -> None:
    board = Board()
    board.loop("old")
    board.now += 30 * HOUR_MS
    since = board.now
    board.loop("s-1", 6)
    board.act("s-1", terminal=True)
    board.loop("s-2", 6)
    board.work("s-2", 9)
    board.triage("ack", board.model.cases["s-2"].newest_episode(is_open=False).episode_id)  # type: ignore[union-attr]
    rows, lead = said(board, since)
    assert rows[0] == "s-2 acknowledged"
    assert changes([], board.model.ledger.actions.values(), since, "")["rows"][0]["session_id"] is None
    assert sorted(row.partition(" ")[2].partition(";")[0].partition(":")[0] for row in rows[1:]) == [
        "began to loop",
        "began to loop",
        "came out of its loop",
        "ended in its loop",
    ]
    assert lead.startswith("2 loops began, 1 ended in their loop, 1 came out of it, ")
    assert lead.endswith("1 action by people.")
    earlier, _ = said(board, 0)
    assert len(earlier) == len(rows) + 1


def test_what_a_policy_did_is_told_apart_from_people_and_what_it_did_not_is_left_out() -> None:
    live = as_row(concluded(claim("one", -1), Result.ACCEPTED, 7, "session-commands/0/1"), 9)
    lost = as_row(concluded(claim("two", -1), PASSED_ON, 8), 10)
    dry = row(InterventionAct(RULE, 0, "x"), "e-2", 11)
    held_back = as_row(claim("three", 7, held_back=True), 12)
    found = changes([], [live, lost, dry, held_back], 0, "")
    assert [(each["who"], each["what"], each["session_id"]) for each in found["rows"]] == [
        ("policy costly", "asked to pause", "of e")
    ]
    assert found["lead"].endswith("0 actions by people, 1 by policies.")


def test_the_moment_is_a_time_or_the_last_look() -> None:
    assert since_of({}, None, AT) == AT - 24 * HOUR_MS
    assert since_of({"since": "look"}, None, AT) == AT - 24 * HOUR_MS
    assert since_of({"since": "look"}, AT - 5, AT) == AT - 5
    with pytest.raises(ConfigurationError, match="no duration"):
        since_of({"since": "tomorrow"}, None, AT)


async def test_the_page_has_rows_escapes_names_and_remembers_when_it_was_looked_at(tmp_path: Path) -> None:
    told = [*everything(), done(Topics(), 1, who="<i>vic</i>", kind="settings", why="too many alarms")]
    now = max(each.stored.timestamp for each in told) + 1_000
    async with following(tmp_path, told, now) as reader:
        found: Any = await reader.json("/changes?since=20000d")
        page = await reader.page("/changes?since=20000d")
        wrong = await reader.page("/changes?since=soon")
        answer = await reader.answer("/changes")
    assert any(row["what"].startswith("began to loop: ") for row in found["rows"])
    assert "&lt;i&gt;vic&lt;/i&gt;" in page
    assert "is no duration" in wrong
    assert answer.headers["Set-Cookie"].startswith("eddy-looked=")
    assert "HttpOnly" in answer.headers["Set-Cookie"]


async def test_a_loop_of_a_session_that_left_memory_is_on_the_page_too(tmp_path: Path) -> None:
    board = Board()
    board.loop("gone", 6)
    row = board.model.cases["gone"].newest_episode(is_open=True)
    assert row is not None
    archive = Archive(tmp_path / "archive")
    archive.save([(EPISODE, row)], []).result()
    archive.close()
    async with following(tmp_path, [], board.now + 1_000) as reader:
        found: Any = await reader.json("/changes?since=1h")
        later: Any = await reader.json("/changes?since=1s")
    assert [each["session_id"] for each in found["rows"]] == ["gone"]
    assert later["rows"] == []
