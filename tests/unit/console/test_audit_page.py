"""The page of the audit: who did what, newest first, and what narrows the list."""

from pathlib import Path
from typing import Any

import pytest

from streams.control.audit import AuditRecord
from streams.core.domain.topic import Topic
from tests.unit.console.following import following
from tests.unit.console.told import Told, Topics

AT = 1_760_000_000_000


def done(topics: Topics, number: int, **more: Any) -> Told:
    record = AuditRecord(
        **{
            "id": f"a-{number}",
            "at": AT + number,
            "who": "ana",
            "kind": "login",
            "result": "accepted",
            **more,
        }
    )
    return topics.told(Topic.CONSOLE_ACTIONS, record.kind, record.fields(), record.at)


def actions() -> list[Told]:
    topics = Topics()
    return [
        done(topics, 1),
        done(topics, 2, who="<i>vic</i>", kind="refused", result="refused"),
        done(
            topics, 3, kind="command", target="s-1", why="it loops", request='{"action":"pause"}', result=None
        ),
    ]


async def test_the_newest_action_is_first_with_who_why_and_what(tmp_path: Path) -> None:
    async with following(tmp_path, actions(), AT + 60_000) as reader:
        found: Any = await reader.json("/audit")
        page = await reader.page("/audit")
    assert [row["id"] for row in found["rows"]] == ["a-3", "a-2", "a-1"]
    newest = found["rows"][0]
    assert (newest["target"], newest["why"], newest["request"]) == ("s-1", "it loops", '{"action":"pause"}')
    assert "&lt;i&gt;vic&lt;/i&gt;" in page
    assert "begun" in page
    assert [row["session_id"] for row in found["rows"]] == [None, None, None], "the request names none"
    assert [row["did"] for row in found["rows"]] == ["asked to pause", "was refused", "logged in"]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("who=ana", ["a-3", "a-1"]),
        ("kind=refused", ["a-2"]),
        ("since=1m", ["a-3", "a-2", "a-1"]),
        ("since=59.998s", ["a-3", "a-2"]),
        ("who=ana&kind=login", ["a-1"]),
    ],
)
async def test_a_filter_narrows_the_list(tmp_path: Path, query: str, ids: list[str]) -> None:
    async with following(tmp_path, actions(), AT + 60_000) as reader:
        found: Any = await reader.json(f"/audit?{query}")
    assert [row["id"] for row in found["rows"]] == ids


@pytest.mark.parametrize("query", ["kind=dance", "since=yesterday"])
async def test_a_filter_that_is_wrong_is_named_above_the_whole_list(tmp_path: Path, query: str) -> None:
    async with following(tmp_path, actions(), AT + 60_000) as reader:
        found: Any = await reader.json(f"/audit?{query}")
        assert 'id="problem"' in await reader.page(f"/audit?{query}")
    assert len(found["rows"]) == 3
    assert query.partition("=")[2] in found["problem"]
