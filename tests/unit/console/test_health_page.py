"""The pages of agents and tools: what they say of the fleet, and of one of it."""

from pathlib import Path
from typing import Any

import pytest

from streams.core.domain.topic import Topic
from tests.unit.console.agents import Board
from tests.unit.console.following import following
from tests.unit.console.told import Told, Topics, everything

MINUTE_MS = 60_000


def health(name: str, at: int, scope: str = "agent", **more: Any) -> dict[str, Any]:
    counts = dict.fromkeys(
        ("sessions_hour", "sessions_day", "looping_now", "episodes_hour", "episodes_day"), 1
    )
    waste = dict.fromkeys(("wasted_tokens_hour", "wasted_tokens_day"), 1_000)
    cost = dict.fromkeys(("wasted_cost_hour", "wasted_cost_day"), 0.5)
    return {"scope": scope, "name": name, "as_of": at, "cross_chains": [], **counts, **waste, **cost, **more}


def told(*reports: dict[str, Any]) -> list[Told]:
    topics = Topics()
    return [topics.told(Topic.AGENT_HEALTH, each["name"], each, each["as_of"]) for each in reports]


NOW = 1_773_140_000_000


async def test_the_worst_agent_stands_first_and_a_silent_one_last(tmp_path: Path) -> None:
    records = told(
        health("quiet", NOW, looping_now=0, wasted_tokens_hour=0),
        health("worst", NOW, wasted_tokens_hour=9_000),
        health("silent", NOW - 11 * MINUTE_MS, wasted_tokens_hour=99_000),
    )
    async with following(tmp_path, records, NOW) as reader:
        found: Any = await reader.json("/health")
        page = await reader.page("/health")
    assert [(row["name"], row["stale"]) for row in found["rows"]] == [
        ("worst", False),
        ("quiet", False),
        ("silent", True),
    ]
    assert found["totals"]["wasted_tokens_hour"] == 9_000
    assert "not known" in page


async def test_agents_and_tools_are_apart_and_tools_are_not_added_up(tmp_path: Path) -> None:
    records = told(health("coder-7", NOW), health("web_search", NOW, "tool"))
    async with following(tmp_path, records, NOW) as reader:
        tools: Any = await reader.json("/health?scope=tool")
        page = await reader.page("/health?scope=tool")
    assert [row["name"] for row in tools["rows"]] == ["web_search"]
    assert "wasted_tokens_hour" not in tools["totals"]
    assert "/health/tool?name=web_search" in page
    assert "counts in full for each of its tools" in " ".join(page.split())


async def test_a_name_is_text_on_every_page(tmp_path: Path) -> None:
    name = "<b>{{ 7*7 }}\" 'x'"
    async with following(tmp_path, told(health(name, NOW), health(name, NOW, "tool")), NOW) as reader:
        for path in ("/health", "/health?scope=tool"):
            found: Any = await reader.json(path)
            page = await reader.page(path)
            assert "<b>{{" not in page
            assert found["rows"][0]["name"] == name
        for scope in ("agent", "tool"):
            answer = await reader.answer(f"/health/{scope}?name=%3Cb%3E%7B%7B%207*7%20%7D%7D%22%20%27x%27")
            assert answer.status == 200
            assert "<b>{{" not in answer.text


@pytest.mark.parametrize("scope", ["agent", "tool"])
async def test_a_name_that_is_not_known_leads_to_the_list(tmp_path: Path, scope: str) -> None:
    async with following(tmp_path, (), NOW) as reader:
        answer = await reader.answer(f"/health/{scope}?name=nothing")
        empty = await reader.page(f"/health?scope={scope}")
    assert answer.status == 400
    assert f"/health?scope={scope}" in answer.text
    assert "has been seen yet" in empty


async def test_a_word_that_is_not_known_is_named_above_the_whole_list(tmp_path: Path) -> None:
    async with following(tmp_path, told(health("a", NOW)), NOW) as reader:
        found: Any = await reader.json("/health?sort=colour")
    assert 'Unknown sort "colour"' in found["problem"]
    assert len(found["rows"]) == 1


async def test_every_agent_and_tool_of_the_recordings_has_a_page(tmp_path: Path) -> None:
    records = everything()
    now = max(told.stored.timestamp for told in records)
    async with following(tmp_path, records, now) as reader:
        for scope in ("agent", "tool"):
            rows: Any = (await reader.json(f"/health?scope={scope}"))["rows"]
            assert rows
            for row in rows:
                found: Any = await reader.json(f"/health/{scope}?name={row['name']}")
                assert found["report"]["name"] == row["name"]
                assert found["points"]


async def test_the_page_of_an_agent_leads_to_the_loops_its_sessions_share(tmp_path: Path) -> None:
    agents = Board()
    about = {"tool": "search", "tool_input": '{"q": "noise"}', "error": "none"}
    records = [each for _ in range(8) for each in agents.done("s-1", **about)]
    [episode, *_] = [each.fields for each in records if each.fields and each.fields.get("signatures")]
    agent, at = episode["agent_id"], agents.now
    shared = [{"signature": each, "sessions": 2} for each in (episode["signatures"][0], "none")]
    records += told(health(agent, at, cross_chains=shared))
    async with following(tmp_path, records, at) as reader:
        found: Any = await reader.json(f"/health/agent?name={agent}")
        page = await reader.page(f"/health/agent?name={agent}")
    known, unknown = found["chains"]
    assert known["cause_key"]
    assert unknown["cause_key"] is None
    assert "See them together" in page
    assert found["open"]
