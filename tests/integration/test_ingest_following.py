"""`eddy ingest --follow` as a person and as a service runs it: live verdicts, and brokers that go away."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from streams.formats.format_detection import FormatDetection
from streams.formats.ingest.ingestion import Ingestion, IngestRequest
from streams.formats.ingest.opening import Opening
from streams.formats.ingest.sink import TopicSink
from streams.formats.ingest.store import IN_MEMORY, Store
from streams.formats.sources import sources
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.kafka.record_sender import RecordSender
from tests.integration.brokers import Linked
from tests.unit.formats.ingest.following import LOG

LINES = LOG.read_bytes().splitlines(keepends=True)
EXPECTED = [orjson.loads(row) for row in LOG.with_name("loop.expected.jsonl").read_bytes().splitlines()]


def test_a_loop_is_shown_while_it_happens_and_a_signal_ends_it_well(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(LINES[0])
    with subprocess.Popen(
        [sys.executable, "-m", "streams", "ingest", str(tmp_path), "--follow", "--judge"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "HOME": str(tmp_path / "home")},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            with log.open("ab") as file:
                file.write(b"".join(LINES[1:]))
            line = process.stdout.readline().decode()
            assert EXPECTED[0]["session_id"] in line
            assert "R1" in line
            process.send_signal(signal.SIGTERM)
            rest, said = process.communicate()
            assert process.returncode == 0
            assert b"claude-code: 1 file, 7 records" in said
            assert b"Traceback" not in rest + said
        finally:
            process.kill()


class Cable:
    """A clock whose waits end at once: it cuts the network, mends it, and stops once all was read."""

    def __init__(self, at: dict[int, Callable[[], Any]], is_done: Callable[[], bool]) -> None:
        self._at, self._is_done, self._waits, self._now = at, is_done, 0, 0.0

    def now(self) -> float:
        return self._now

    async def wait(self, seconds: float) -> bool:
        self._now += seconds
        self._waits += 1
        if (action := self._at.get(self._waits)) is not None:
            await action()
        return self._waits > max(self._at) and self._is_done()


@pytest.mark.integration
async def test_brokers_that_go_away_and_come_back_get_each_record_in_order(
    link: Linked, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic, log = unique("ingested"), tmp_path / "a.jsonl"
    admin = AIOKafkaAdminClient(bootstrap_servers=link.bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 2, 1)])
    await admin.close()
    notices: list[str] = []

    async def cut() -> None:
        await link.link.cut()
        log.write_bytes(b"".join(LINES[:9]))

    async def mend_and_grow() -> None:
        link.link.heal()
        log.write_bytes(b"".join(LINES))

    log.write_bytes(b"".join(LINES[:5]))
    store = Store(IN_MEMORY, "here", 0.0)
    sender = RecordSender(Connection(link.bootstrap), topic, idempotent=link.kind == "kafka", within_s=3)
    ingestion = Ingestion(
        lambda: sources([str(log)]),
        Opening(store, FormatDetection(), follow=True),
        store,
        TopicSink(sender, lambda: 1_000_000_000_000),
        Cable({2: cut, 4: mend_and_grow}, lambda: ingestion.account.sources["claude-code"].records == 7),
        IngestRequest(follow=True),
        notice=notices.append,
    )
    await ingestion.run()
    await sender.close()
    store.close()
    async with connect(Connection(link.bootstrap)) as brokers:
        found = [each async for each in brokers.read(topic)]
    records = [orjson.loads(each.value or b"") for each in found]
    assert list({each["event_id"]: each for each in records}.values()) == EXPECTED
    assert {each.key for each in found} == {EXPECTED[0]["session_id"].encode()}
    assert dict(found[0].headers) == {"eddy-source": b"claude-code"}
    assert notices
    assert link.bootstrap in notices[0]
