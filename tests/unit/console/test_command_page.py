"""The page of all commands: newest first, how far each has come, and the holds in force."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.console.following import following
from tests.unit.console.told import Told, Topics

AT = 1_760_000_000_000


def asked() -> list[Told]:
    """Return a pause that was released, one that no guard answers, and a hold."""
    topics = Topics()
    pause = topics.command("pause", "s-1", AT, reason="it <b>loops</b>")
    return [
        topics.ack("attached", None, "s-1", AT),
        pause,
        topics.ack("received", pause, "s-1", AT + 200),
        topics.ack("applied", pause, "s-1", AT + 400),
        topics.ack("released", pause, "s-1", AT + 9_000),
        topics.command("pause", "s-2", AT + 1_000),
        topics.command("pause", None, AT + 2_000, scope="agent", agent_id="coder-7"),
    ]


def stages(row: dict[str, Any]) -> list[tuple[str, int]]:
    return [(each["stage"], each["at"] - row["issued_at"]) for each in row["stages"]]


async def test_the_newest_command_is_first_and_each_says_how_far_it_has_come(tmp_path: Path) -> None:
    async with following(tmp_path, asked(), AT + 60_000) as reader:
        found: Any = await reader.json("/commands")
    hold, silent, answered = found["rows"]
    assert (hold["scope"], hold["agent_id"]) == ("agent", "coder-7")
    assert stages(silent) == [("asked", 0), ("no guard answered", 10_000)]
    assert stages(answered) == [("asked", 0), ("received", 200), ("in effect", 400), ("released", 9_000)]
    assert [each["agent_id"] for each in found["holds"]] == ["coder-7"]


async def test_a_pause_without_an_end_expires(tmp_path: Path) -> None:
    async with following(tmp_path, asked(), AT + 3_600_000) as reader:
        found: Any = await reader.json("/commands?session=s-2")
    assert stages(found["rows"][0])[-1] == ("expired", 900_000)
    assert found["holds"] == []


@pytest.mark.parametrize(("query", "count"), [("session=s-1", 1), ("agent=coder-7", 1), ("agent=none", 0)])
async def test_a_session_or_an_agent_narrows_the_list(tmp_path: Path, query: str, count: int) -> None:
    async with following(tmp_path, asked(), AT + 60_000) as reader:
        assert (await reader.json(f"/commands?{query}"))["matching"] == count


async def test_the_page_links_the_session_and_shows_reasons_as_text(tmp_path: Path) -> None:
    async with following(tmp_path, asked(), AT + 60_000) as reader:
        page = await reader.page("/commands")
    assert "/session?id=s-1&amp;tab=commands" in page
    assert "it &lt;b&gt;loops&lt;/b&gt;" in page
    assert 'aria-current="page" title="Commands"' in page


async def test_every_command_is_on_exactly_one_of_the_pages(tmp_path: Path) -> None:
    topics = Topics()
    many = [topics.command("pause", f"s-{n}", AT + n // 7, command_id=f"c-{n}") for n in range(230)]
    seen, address = [], "/commands"
    async with following(tmp_path, many, AT + 60_000) as reader:
        while address:
            found: Any = await reader.json(address)
            seen += [row["command_id"] for row in found["rows"]]
            address = f"/commands?cursor={found['next']}" if found["next"] else ""
    assert len(seen) == 230
    assert set(seen) == {f"c-{n}" for n in range(230)}


async def test_the_page_of_a_session_has_the_holds_that_its_guard_obeys_and_no_others(tmp_path: Path) -> None:
    topics = Topics()
    hold = topics.command("pause", None, AT, scope="agent", agent_id="coder-7")
    other = topics.command("pause", None, AT + 500, scope="agent", agent_id="coder-8")
    told = [hold, other, topics.ack("applied", hold, "s-1", AT + 300)]
    async with following(tmp_path, told, AT + 60_000) as reader:
        # No broker answers: what stands in memory is shown all the same.
        found: Any = await reader.json("/session?id=s-1&dialog=pause")
    [command] = found["session"]["commands"]
    assert command["command_id"] == (hold.fields or {})["command_id"]
    assert [each["stage"] for each in command["stages"]] == ["asked", "received", "in effect"]
