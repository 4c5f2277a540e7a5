"""The README and the page behind it, done as they say: their commands typed, their programs run."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from schemas.bundled import latest
from schemas.codec import Codec
from streams.core.domain.topic import Topic
from streams.formats.recordings.catalogue import RECORDINGS
from tests.integration.brokers import Broker
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.pages import GETTING_STARTED, README

pytestmark = pytest.mark.integration

PRODUCER, CONSUMER = README.blocks("python")


@pytest.fixture
async def stage(stage_broker: Broker, tmp_path: Path) -> AsyncIterator[Stage]:
    """Return a broker without topics, and a person who follows the README."""
    stage = Stage(stage_broker, tmp_path, application_id="eddy", partitions=24)
    yield stage
    stage.close()


async def python(stage: Stage, program: str) -> str:
    """Run a program of the README as it stands and return what it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=stage.environment(),
    )
    try:
        stdout, stderr = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, stderr.decode()
    return stdout.decode()


async def settings_versions(stage: Stage) -> list[int]:
    """Return the settings version of each enriched record, in the order of the offsets."""
    decode = Codec.bundled().decoder(f"{Topic.ENRICHED}-value").decode
    return [
        decode(stored.value, stored.headers)["eddy"]["settings_version"]
        for stored in await stage.read(Topic.ENRICHED)
    ]


async def test_from_the_topics_to_an_alert_and_to_other_settings(stage: Stage, tmp_path: Path) -> None:
    applied = await stage.command(*README.typed("topics", "apply"), replicas=1)
    assert "+ create decision-logs: 24 partitions" in applied

    words = [
        word.replace("/var/lib/eddy", str(tmp_path / "state"))
        for word in README.typed("worker", "--data-dir")
    ]
    worker = await stage.worker(command=("eddy", *words)).ready()
    assert any((tmp_path / "state").rglob("*"))

    _, printed = await asyncio.gather(python(stage, PRODUCER), python(stage, CONSUMER))
    alert_id, level, rule, count, tools = printed.split()
    assert (level, rule, count, tools) == ("LOOP", "R1", "4", "['search']")
    session, partition, offset, kind = alert_id.split("/", 3)
    assert (session, kind) == ("s-1", "loop_episode/escalated")
    [alert, *_] = await stage.read(Topic.SESSION_ALERTS)
    assert (alert.partition, int(offset)) == (int(partition), 3)
    newest = latest("session-alerts-value").version
    assert dict(alert.headers)["eddy-schema"] == f"session-alerts-value/{newest}".encode()

    assert (await stage.command(*GETTING_STARTED.typed("config", "set"))).endswith(
        "Settings version 1 is published.\n"
    )
    await until(
        lambda: "Settings version 1 is in force" in worker.log, PATIENCE_SECONDS, "the settings", worker
    )
    await python(stage, PRODUCER)
    await worker.has_processed(12)
    assert await settings_versions(stage) == [0] * 6 + [1] * 6
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()


async def test_loops_in_a_file_without_kafka(stage: Stage, tmp_path: Path) -> None:
    (recording,) = (each for each in RECORDINGS if each.name == "read_loop")
    shutil.copy(recording.path, tmp_path / "my-agent.jsonl")
    said = await stage.command(*GETTING_STARTED.typed("detect"), bootstrap_servers="127.0.0.1:1")
    assert all(finding in said for finding in recording.findings)
