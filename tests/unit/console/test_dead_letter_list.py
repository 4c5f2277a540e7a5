"""The page of dead letters: counts by reason, what narrows the list, and what became of each."""

from pathlib import Path
from typing import Any

import pytest

from schemas.reason import Reason
from streams.core.domain.topic import Topic
from streams.kafka.stored import Stored
from streams.operate.redrive.memory import Mark, mark_record
from streams.worker.dead_letter import LetterSource, dead_letter_headers
from tests.unit.console.following import following
from tests.unit.console.told import Told

AT = 1_760_000_000_000


def letter(offset: int, reason: Reason, key: bytes) -> Told:
    source = LetterSource("decision-logs", 1, offset)
    headers = dead_letter_headers(source, reason, "it is not right", ["goal"], group="eddy", version="1")
    return Told(Topic.DEAD_LETTERS, Stored(3, offset, AT + offset, key, b"{}", headers), None)


def mark(offset: int, *, done: bool) -> Told:
    record = mark_record(1, offset, Mark("run", 1, done), AT)
    return Told(Topic.REDRIVEN, Stored(0, offset, AT, record.key, record.value, ()), None)


RECORDS = [
    letter(1, Reason.KEY, b"s-1"),
    letter(2, Reason.KEY, b"<b>s-2</b>"),
    letter(3, Reason.UNDECODABLE, b"s-1"),
    mark(1, done=True),
    mark(2, done=False),
]


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("", ["3:3", "3:2", "3:1"]),
        ("reason=key", ["3:2", "3:1"]),
        ("session=s-1", ["3:3", "3:1"]),
        ("fate=sent", ["3:1"]),
        ("fate=uncertain", ["3:2"]),
        ("fate=none", ["3:3"]),
        ("since=59.998s", ["3:3", "3:2"]),
    ],
)
async def test_a_filter_narrows_the_list(tmp_path: Path, query: str, places: list[str]) -> None:
    async with following(tmp_path, RECORDS, AT + 60_000) as reader:
        found: Any = await reader.json(f"/dead-letters?{query}")
    assert [row["at"] for row in found["rows"]] == places
    assert found["matching"] == len(places)


async def test_the_counts_are_of_every_reason_whichever_is_shown(tmp_path: Path) -> None:
    async with following(tmp_path, RECORDS, AT + 60_000) as reader:
        found: Any = await reader.json("/dead-letters?reason=undecodable")
    assert found["reasons"] == [{"reason": "key", "count": 2}, {"reason": "undecodable", "count": 1}]
    assert (found["all"], found["matching"]) == (3, 1)


async def test_a_row_says_what_became_of_the_letter_and_shows_its_key_as_text(tmp_path: Path) -> None:
    async with following(tmp_path, RECORDS, AT + 60_000) as reader:
        page = await reader.page("/dead-letters")
    assert "uncertain" in page
    assert "&lt;b&gt;s-2&lt;/b&gt;" in page
    assert "/dead-letter?at=3%3A1" in page


@pytest.mark.parametrize("query", ["fate=lost", "since=yesterday"])
async def test_a_filter_that_is_wrong_is_named_above_the_whole_list(tmp_path: Path, query: str) -> None:
    async with following(tmp_path, RECORDS, AT + 60_000) as reader:
        found: Any = await reader.json(f"/dead-letters?{query}")
    assert len(found["rows"]) == 3
    assert query.partition("=")[2] in found["problem"]
