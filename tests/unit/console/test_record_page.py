"""One record of any topic: what the page shows of it, and which addresses name none."""

from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from schemas.codec import Codec
from streams.console.app import Routes
from streams.console.console import Console
from streams.console.raw_records import RawRecords
from streams.console.views import record
from streams.control.audit import AuditRecord
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers
from streams.kafka.connection import Connection
from streams.kafka.stored import Stored
from tests.unit.console.following import ADDRESS, following
from tests.unit.console.told import Topics

AT = 1_760_000_000_000
PLACE = "topic=session-commands&partition=0&offset=17"


class Held(RawRecords):
    """One record that was read already, wherever it is asked for."""

    async def record(self, topic: Topic, partition: int, offset: int) -> Stored:
        command = Topics().command("pause", "s-1", AT, reason="it <b>loops</b>").stored
        return command._replace(partition=partition, offset=offset, headers=[("eddy-mac", b"v1 <k>")])


def routes(looks: list[AuditRecord]) -> Any:
    async def audited(done: AuditRecord) -> None:
        looks.append(done)

    def made(console: Console) -> Routes:
        brokers = Brokers(Connection(ADDRESS), AIOKafkaAdminClient(bootstrap_servers=ADDRESS))
        return record.routes(console, Held(brokers, Codec.bundled()), audited)

    return made


@pytest.mark.parametrize("way", ["text", "json", "hex"])
async def test_a_record_is_shown_as_text_and_the_look_is_audited(tmp_path: Path, way: str) -> None:
    looks: list[AuditRecord] = []
    async with following(tmp_path, (), AT, beside=routes(looks)) as reader:
        page = await reader.page(f"/record?{PLACE}&as={way}")
        found: Any = await reader.json(f"/record?{PLACE}&as={way}")
    assert "v1 &lt;k&gt;" in page
    assert "<b>" not in page.partition("<main")[2]
    assert (found["topic"], found["partition"], found["offset"]) == ("session-commands", 0, 17)
    assert {look.target for look in looks} == {"session-commands/0/17"}


@pytest.mark.parametrize(
    "query",
    ["", "topic=payroll&partition=0&offset=1", f"{PLACE}x", "topic=session-commands&partition=-1&offset=1"],
)
async def test_an_address_that_names_no_record_is_refused(tmp_path: Path, query: str) -> None:
    looks: list[AuditRecord] = []
    async with following(tmp_path, (), AT, beside=routes(looks)) as reader:
        assert (await reader.answer(f"/record?{query}")).status == 400
    assert looks == []
