"""The map as a page: groups with their cells, the card of a cell, and the matrix of agents and tools."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from streams.console.session_map import EMPTY, LETTERS
from tests.unit.console.agents import MINUTE_MS, Recorded
from tests.unit.console.following import following

LOOP = {"tool": "search", "tool_input": '{"q": "noise"}', "error": "none"}


@pytest.fixture
def fleet() -> Recorded:
    """A session that loops, one that works, and one that has been silent for long."""
    board = Recorded()
    board.work("silent", 2)
    board.now += 20 * MINUTE_MS
    board.work("works", 3)
    board.loop("loops", 8)
    return board


async def test_each_session_has_a_cell_in_the_state_it_is_in(tmp_path: Path, fleet: Recorded) -> None:
    async with following(tmp_path, fleet.records, fleet.now) as reader:
        found: Any = await reader.json("/map")
        page = await reader.page("/map")
    [group] = found["groups"]
    assert sorted(group["cells"].replace(EMPTY, "")) == sorted("ial")
    assert {each["name"]: each["count"] for each in found["states"] if each["count"]} == {
        "alert_entropy": 1,
        "active": 1,
        "idle": 1,
    }
    assert [each["session_id"] for each in group["named"]] == ["loops"]
    assert f'data-cells="{group["cells"]}"' in page


async def test_a_paused_session_is_shown_as_paused(tmp_path: Path, fleet: Recorded) -> None:
    pause = fleet.take(fleet.topics.command("pause", "loops", fleet.now))
    for status in ("received", "applied"):
        fleet.take(fleet.topics.ack(status, pause, "loops", fleet.now))
    async with following(tmp_path, fleet.records, fleet.now + 1_000) as reader:
        found: Any = await reader.json("/map")
    assert "p" in found["groups"][0]["cells"]


async def test_a_cell_leads_to_its_session_by_seat_and_by_id(tmp_path: Path, fleet: Recorded) -> None:
    async with following(tmp_path, fleet.records, fleet.now) as reader:
        found: Any = await reader.json("/map")
        group = found["groups"][0]
        at = f"{group['place']}:{group['cells'].index(LETTERS['alert_entropy'])}"
        by_seat: Any = await reader.json(f"/map/cell?at={at}")
        by_id: Any = await reader.json("/map?id=loops")
        card = await reader.page(f"/map/cell?at={at}")
    assert by_seat["cell"] == by_id["cell"]
    assert (by_seat["cell"]["session_id"], by_seat["cell"]["at"]) == ("loops", at)
    assert "search" in by_seat["cell"]["what"]
    assert "/session?id=loops" in card
    assert "<html" not in card


@pytest.mark.parametrize("at", ["", "9:9", "x", "-1:0", "0:99999999", "1:2:3", "٣:١"])
async def test_a_seat_that_nobody_has_is_answered(tmp_path: Path, fleet: Recorded, at: str) -> None:
    async with following(tmp_path, fleet.records, fleet.now) as reader:
        found: Any = await reader.json("/map/cell?" + urlencode({"at": at}))
    assert found["cell"] is None


async def test_the_matrix_names_the_tool_that_an_agent_loops_with(tmp_path: Path, fleet: Recorded) -> None:
    async with following(tmp_path, fleet.records, fleet.now) as reader:
        found: Any = await reader.json("/map?as=matrix")
        page = await reader.page("/map?as=matrix")
    assert found["matrix"]["tools"] == ["search"]
    [row] = found["matrix"]["rows"]
    assert row["cells"][0]["sessions"] == 1
    assert row["cells"][0]["hourly"] == row["hourly"] > 0
    assert "/health/tool?name=search" in page


@pytest.mark.parametrize("form", ["", "table", "matrix"])
@pytest.mark.parametrize("by", ["agent", "agent_type", "task_type", "cluster"])
async def test_every_form_and_grouping_has_a_page(
    tmp_path: Path, fleet: Recorded, form: str, by: str
) -> None:
    async with following(tmp_path, fleet.records, fleet.now) as reader:
        page = await reader.page(f"/map?as={form}&by={by}")
    assert ("data-cells" in page) == (form != "matrix")


async def test_a_word_that_is_not_known_is_named(tmp_path: Path) -> None:
    async with following(tmp_path, (), 0) as reader:
        grouping: Any = await reader.json("/map?by=colour")
        state: Any = await reader.json("/map?state=angry")
        empty = await reader.page("/map")
    assert 'Unknown group "colour"' in grouping["problem"]
    assert 'Unknown state "angry"' in state["problem"]
    assert "No topology has been read" in empty


async def test_ids_and_names_are_text(tmp_path: Path) -> None:
    board, hostile = Recorded(), '"><img src=x onerror=alert(1)>{{ 7*7 }}'
    for _ in range(8):
        for told in board.done(hostile, agent=hostile, **LOOP):
            board.take(told)
    async with following(tmp_path, board.records, board.now) as reader:
        for path in ("/map", "/map?as=table", "/map?as=matrix", "/map/cell?at=0:0", "/map?by=task_type"):
            assert "<img src=x" not in await reader.page(path)
