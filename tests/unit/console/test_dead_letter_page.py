"""One dead letter: its value as text, bytes or a file, whether it would be accepted now, and who looked."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka.admin import AIOKafkaAdminClient

from schemas.codec import Codec
from schemas.reason import Reason
from streams.console.raw_records import PAGE_BYTES, RawRecords
from streams.console.views import dead_letter
from streams.control.audit import AuditRecord
from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from streams.kafka.client import Brokers
from streams.kafka.connection import Connection
from streams.kafka.stored import Stored
from streams.worker.dead_letter import LetterSource, dead_letter_headers
from tests.stream import START_MS, decision_log
from tests.unit.console.following import ADDRESS, Reader, following

AT = 1_760_000_000_000
SECRET = "sk-zorbl"


class Held(RawRecords):
    """Records that were read already."""

    def __init__(self, records: Mapping[tuple[int, int], Stored]) -> None:
        brokers = Brokers(Connection(ADDRESS), AIOKafkaAdminClient(bootstrap_servers=ADDRESS))
        super().__init__(brokers, Codec.bundled())
        self._records = records

    async def record(self, topic: Topic, partition: int, offset: int) -> Stored:
        assert topic is Topic.DEAD_LETTERS
        return self._records[partition, offset]


def stored(value: bytes) -> Stored:
    source = LetterSource("decision-logs", 1, 7)
    headers = dead_letter_headers(source, Reason.KEY, "the key differs", ["key"], group="e", version="1")
    return Stored(3, 17, AT, b"s1", value, headers)


def log(**changes: object) -> bytes:
    return orjson.dumps({**decision_log(number=1, at_ms=AT - START_MS), **changes})


@asynccontextmanager
async def opened(
    folder: Path, value: bytes, *, viewer: bool = False, fails: bool = False, **given: object
) -> AsyncIterator[tuple[Reader, list[AuditRecord]]]:
    looks: list[AuditRecord] = []

    async def audited(record: AuditRecord) -> None:
        if fails:
            raise InfrastructureError("The brokers do not answer.")
        looks.append(record)

    records = Held({(3, 17): stored(value)})
    page = following(
        folder,
        (),
        AT,
        viewer=viewer,
        beside=lambda console: dead_letter.routes(console, records, audited),
        **given,
    )
    async with page as reader:
        yield reader, looks


async def test_the_value_is_text_that_hides_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, b"<script>\x1b[2J\xff") as (reader, _):
        page = await reader.page("/dead-letter?at=3:17")
    assert "&lt;script&gt;\\x1b[2J\\xff" in page
    assert "the key differs" in page
    assert "eddy dlq redrive 3:17" in page


async def test_each_look_is_in_the_audit_and_none_is_without(tmp_path: Path) -> None:
    async with opened(tmp_path, log()) as (reader, looks):
        await reader.page("/dead-letter?at=3:17&as=hex")
    [look] = looks
    assert (look.kind, look.who, look.target) == ("view_raw", "ana", "decision-logs-dlq/3/17")
    async with opened(tmp_path, b"kept back", fails=True) as (reader, _):
        refused = await reader.answer("/dead-letter?at=3:17")
    assert refused.status == 503
    assert "kept back" not in refused.text


async def test_bytes_are_shown_in_pages(tmp_path: Path) -> None:
    value = b"a" * PAGE_BYTES + b"end"
    async with opened(tmp_path, value) as (reader, _):
        found: Any = await reader.json("/dead-letter?at=3:17&as=hex&page=2")
    assert found["value"] == {"as": "hex", "page": 2, "pages": 2, "is_null": False}
    assert found["raw_value"]["text"].startswith("00010000  65 6e 64 ")


async def test_the_value_is_decoded(tmp_path: Path) -> None:
    async with opened(tmp_path, log()) as (reader, _):
        found: Any = await reader.json("/dead-letter?at=3:17&as=json")
    assert orjson.loads(found["raw_value"]["text"])["session_id"] == "s1"


async def test_a_file_is_an_attachment_that_no_browser_opens(tmp_path: Path) -> None:
    async with opened(tmp_path, b"<script>") as (reader, _):
        answer = await reader.answer("/dead-letter?at=3:17&as=file")
    assert answer.text == "<script>"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"].startswith("attachment;")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].endswith("sandbox")


async def test_it_says_whether_the_letter_would_be_accepted_now(tmp_path: Path) -> None:
    async with opened(tmp_path, log()) as (reader, _):
        assert "It would be accepted now" in await reader.page("/dead-letter?at=3:17")
    async with opened(tmp_path, log(session_id="another")) as (reader, _):
        assert "It would be set aside again now" in await reader.page("/dead-letter?at=3:17")


@pytest.mark.parametrize("way", ["text", "hex", "json", "file"])
async def test_a_hidden_pattern_is_in_no_form_of_the_value(tmp_path: Path, way: str) -> None:
    value = log(goal=f"the key {SECRET}")
    async with opened(tmp_path, value, console_redact="sk-[a-z]+") as (reader, _):
        shown = (await reader.answer(f"/dead-letter?at=3:17&as={way}")).text
    assert SECRET not in shown
    assert SECRET.encode().hex(" ") not in shown


async def test_a_viewer_who_sees_digests_gets_neither_value_nor_file(tmp_path: Path) -> None:
    value = log(goal=SECRET)
    given = opened(tmp_path, value, viewer=True, console_viewer_sees="digests")
    async with given as (reader, looks):
        assert SECRET not in await reader.page("/dead-letter?at=3:17")
        assert (await reader.answer("/dead-letter?at=3:17&as=file")).status == 400
    assert len(looks) == 1


@pytest.mark.parametrize("query", ["", "at=3", "at=3:-1", "at=3:17&as=song", "at=3:17&page=0"])
async def test_an_address_that_names_nothing_is_refused(tmp_path: Path, query: str) -> None:
    async with opened(tmp_path, log()) as (reader, looks):
        assert (await reader.answer(f"/dead-letter?{query}")).status == 400
    assert looks == []
