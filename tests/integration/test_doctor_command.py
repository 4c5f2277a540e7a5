"""`eddy doctor` beside a running worker, without a broker, and when something is wrong."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import DeleteGroupsRequest

from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.worker.options import changelog_topic
from tests.integration.load import HOUR_MS, decision, keyed, load
from tests.integration.stage import Stage, delete_topics

pytestmark = pytest.mark.integration


async def examined(stage: Stage, *words: str, status: int = 0, **settings: object) -> dict[str, Any]:
    """Return the checks by name, those of one name joined: (status of the worst, what was said)."""
    if "bootstrap_servers" not in settings:
        await stage.offsets_are_kept()
    settings = {"replicas": 1, **settings}
    if "--timeout" not in words:
        words = (*words, "--timeout", "60")  # the brokers may be slow to answer, and are no less healthy
    ended, printed, complained = await stage.attempt("doctor", "--json", *words, **settings)
    assert (ended, complained) == (status, ""), printed
    found = json.loads(printed)
    assert found["healthy"] is (status == 0)
    order = ["ok", "warn", "fail"]
    checks: dict[str, Any] = {}
    for check in found["checks"]:
        worst, said = checks.get(check["name"], ("ok", ""))
        assert bool(check["advice"]) is (check["status"] != "ok"), check
        checks[check["name"]] = (max(worst, check["status"], key=order.index), f"{said}\n{check['said']}")
    return checks


async def state_of_the_brokers(stage: Stage) -> Any:
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        admin = AIOKafkaAdminClient(bootstrap_servers=stage.broker.bootstrap)
        await admin.start()
        try:
            names = sorted(name for name in await admin.list_topics() if not name.startswith("__"))
        finally:
            await admin.close()
        return names, await brokers.describe(names)


def contents(directory: Path) -> dict[str, int]:
    return {str(file): file.stat().st_mtime_ns for file in directory.rglob("*") if file.is_file()}


async def test_beside_a_healthy_worker_everything_is_fine(stage: Stage) -> None:
    worker = stage.worker()
    data = worker.directory / "data"
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await stage.processed()
    found = await examined(stage, "--data-dir", str(data))
    assert {name: worst for name, (worst, _) in found.items() if worst != "ok"} == {}
    assert "0 records behind" in found["group"][1]
    assert re.search(r"open in process \d+", found["local state"][1])
    if stage.broker.kind == "kafka":
        assert "1 worker, Stable" in found["group"][1]

    # At rest, nothing is changed: neither here nor there.
    worker.terminate()
    await worker.ended()
    before = contents(data), await state_of_the_brokers(stage)
    found = await examined(stage, "--data-dir", str(data))
    assert "open in process" not in found["local state"][1]
    assert (contents(data), await state_of_the_brokers(stage)) == before
    if stage.broker.kind == "kafka":
        assert found["group"][0] == "warn"
        assert "no worker runs" in found["group"][1]


async def test_without_a_broker_the_rest_is_looked_at_in_time(stage: Stage, tmp_path: Path) -> None:
    found = await examined(stage, "--timeout", "2", status=1, bootstrap_servers="127.0.0.1:1,127.0.0.1:2")
    assert found["broker"][0] == "fail"
    assert {name for name, (worst, _) in found.items() if worst == "ok"} >= {
        "python",
        "libraries",
        "settings",
        "schemas",
        "state directory",
        "web port",
    }

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    found = await examined(stage, "--timeout", "2", status=1, bootstrap_servers=f"127.0.0.1:{port}")
    assert "no answer within 2 s" in found["broker"][1]
    server.close()
    await stage.offsets_are_kept()
    # One of several that is down is no failure.
    servers = f"127.0.0.1:1,{stage.broker.bootstrap}"
    found = await examined(stage, bootstrap_servers=servers)
    assert (found["broker"][0], found["topics"][0]) == ("warn", "ok")


async def test_topics_settings_clock_and_state_that_do_not_fit_are_told(stage: Stage, tmp_path: Path) -> None:
    found = await examined(stage, status=1, application_id="other")
    assert found["topics"][0] == "fail"
    assert f"missing: {changelog_topic('other')}" in found["topics"][1]

    partition, record = keyed(decision("s", 0), stage.partitions)
    # Apache Kafka takes nothing that is more than an hour ahead.
    await stage.send([(partition, record._replace(timestamp=int(time.time() * 1000) + HOUR_MS * 3 // 4))])
    await stage.publish_settings(max_future_ms=60_000)
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        nonsense = Outgoing(b"settings", b"nonsense\x1b[2J", int(time.time() * 1000))
        await brokers.write(Topic.DETECTOR_CONFIG, [(0, nonsense)])
    found = await examined(stage)
    assert (found["clock"][0], found["detection settings"][0]) == ("warn", "warn")
    assert "0.7 h ahead" in found["clock"][1]

    status, printed, _ = await stage.attempt("doctor", replicas=1, bootsrap_servers="\x1b[2J")
    assert status == 0
    assert all(line.isprintable() for line in printed.splitlines())
    assert "EDDY_BOOTSRAP_SERVERS (perhaps EDDY_BOOTSTRAP_SERVERS?)" in printed


async def test_settings_that_cannot_be_read_are_the_last_thing_that_is_looked_at(stage: Stage) -> None:
    found = await examined(stage, status=1, run_max_records="many")
    assert list(found)[-1] == "settings"
    assert "EDDY_RUN_MAX_RECORDS" in found["settings"][1]


async def test_state_of_another_cluster_is_a_failure(stage: Stage, tmp_path: Path) -> None:
    worker = stage.worker()
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await stage.processed()
    worker.terminate()
    await worker.ended()
    state = worker.directory / "data" / stage.application_id
    await stage.create_topics("other")
    state.rename(state.with_name("other"))
    found = await examined(
        stage, "--data-dir", str(worker.directory / "data"), status=1, application_id="other"
    )
    assert found["local state"][0] == "fail"
    assert "which ends at 0" in found["local state"][1]


async def left_behind(stage: Stage) -> str:
    """Let a worker score some records and leave; return where its state is."""
    worker = stage.worker()
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await stage.processed()
    worker.terminate()
    await worker.ended()
    return str(worker.directory / "data")


@pytest.mark.kafka_only("the embedded broker has no transactions")
async def test_the_newest_record_is_seen_before_the_mark_of_its_transaction(stage: Stage) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=stage.broker.bootstrap, transactional_id="source")
    await producer.start()
    try:
        async with producer.transaction():
            await producer.send_and_wait(Topic.DECISION_LOGS, b"{}", partition=0)
    finally:
        await producer.stop()
    # Whether a group can be found yet does not matter.
    _, printed, _ = await stage.attempt("doctor", "--json", "--timeout", "60")
    (said,) = [each["said"] for each in json.loads(printed)["checks"] if each["name"] == "clock"]
    assert "the newest record is" in said


@pytest.mark.kafka_only("the embedded broker gives a topic no id")
async def test_state_of_an_input_that_was_created_again_is_a_failure_before_a_worker_refuses_it(
    stage: Stage,
) -> None:
    data = await left_behind(stage)
    assert (await examined(stage, "--data-dir", data))["local state"][0] == "ok"
    await delete_topics(stage.broker, [Topic.DECISION_LOGS])
    await stage.create_topics()
    found = await examined(stage, "--data-dir", data, status=1)
    assert found["local state"][0] == "fail"
    assert "was built from decision-logs with the id" in found["local state"][1]


@pytest.mark.kafka_only("the embedded broker tells no settings and no members")
async def test_offsets_that_the_brokers_have_forgotten_are_told(stage: Stage) -> None:
    data = await left_behind(stage)
    found = await examined(stage, "--data-dir", data)
    assert found["offsets"][0] == "ok"
    assert "for 7.0 days" in found["offsets"][1]
    admin = AIOKafkaAdminClient(bootstrap_servers=stage.broker.bootstrap)
    await admin.start()
    try:
        answer: Any = await admin._send_request(DeleteGroupsRequest([stage.application_id]))
        assert answer.results == [(stage.application_id, 0)]
    finally:
        await admin.close()
    found = await examined(stage, "--data-dir", data)
    assert found["group"][0] == "warn"
    assert "no committed offset there" in found["group"][1]
