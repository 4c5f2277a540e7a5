"""Two jobs on one cluster, told apart by the prefix of their topics alone."""

import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from streams.core.domain.topic import Topic
from streams.formats.recordings.catalogue import RECORDINGS
from streams.kafka.topic_identity import job_topics
from tests.integration.brokers import Broker
from tests.integration.stage import Stage

pytestmark = pytest.mark.integration

LINES = {each.name: each.path.read_bytes().splitlines() for each in RECORDINGS}
LOOP, HEALTHY = LINES["same_call"], LINES["healthy_bugfix"]


@pytest.fixture
async def stage(stage_broker: Broker, tmp_path: Path) -> AsyncIterator[Stage]:
    """Return a broker that has no topic of either job yet."""
    stage = Stage(stage_broker, tmp_path, application_id="eddy", partitions=2)
    yield stage
    stage.close()


class Job:
    """One of the jobs, under the prefix that all its commands get."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage = stage
        self.prefix = f"{name}-{uuid.uuid4().hex[:8]}."

    def topic(self, topic: Topic) -> str:
        return f"{self.prefix}{topic}"

    async def eddy(self, *words: str) -> str:
        return await self.stage.command(*words, topic_prefix=self.prefix, replicas=1, partitions=2)

    async def values(self, topic: Topic) -> list[bytes]:
        return [stored.value or b"" for stored in await self.stage.read(self.topic(topic))]

    async def send(self, lines: list[bytes]) -> int:
        producer = AIOKafkaProducer(bootstrap_servers=self.stage.broker.bootstrap)
        async with producer:
            for line in lines:
                key = json.loads(line)["session_id"].encode()
                await producer.send_and_wait(self.topic(Topic.DECISION_LOGS), line, key)
            await producer.send_and_wait(self.topic(Topic.DECISION_LOGS), b"{", b"no-session")
        return len(lines)


async def test_two_jobs_with_the_same_application_id_share_nothing(stage: Stage) -> None:
    red, blue = Job(stage, "red"), Job(stage, "blue")
    before = set(await stage.partition_counts([str(topic) for topic in Topic]))
    for job in (red, blue):
        await job.eddy("topics", "apply")
        assert "Nothing to do" in await job.eddy("topics", "plan")
    workers = [stage.worker(topic_prefix=job.prefix, output_format="json") for job in (red, blue)]
    for worker in workers:
        await worker.ready()
    await red.eddy("config", "set", "alert_every_record=false", "--why", "red")

    sent = await red.send(LOOP), await blue.send(HEALTHY)
    for worker, records in zip(workers, sent, strict=True):
        await worker.has_processed(records + 1)

    assert (len(await red.values(Topic.ENRICHED)), len(await blue.values(Topic.ENRICHED))) == sent
    assert any(b'"loop_episode"' in alert for alert in await red.values(Topic.SESSION_ALERTS))
    assert not await blue.values(Topic.SESSION_ALERTS)
    assert await blue.eddy("config", "history") != await red.eddy("config", "history")
    session = json.loads(LOOP[0])["session_id"]
    assert "R1" in await red.eddy("explain", session, "--topic")
    status, _, complained = await stage.attempt("explain", session, "--topic", topic_prefix=blue.prefix)
    assert status != 0
    assert blue.topic(Topic.ENRICHED) in complained
    for job in (red, blue):
        letters = await stage.read(job.topic(Topic.DEAD_LETTERS))
        assert [dict(letter.headers)["__streams.errors.topic"].decode() for letter in letters] == [
            job.topic(Topic.DECISION_LOGS)
        ]
        assert "undecodable" in await job.eddy("dlq", "list")
    for worker in workers:
        worker.terminate()
    assert [await worker.ended() for worker in workers] == [0, 0]
    assert set(await stage.partition_counts([str(topic) for topic in Topic])) == before


async def test_every_topic_of_the_catalogue_gets_the_prefix(stage: Stage) -> None:
    job = Job(stage, "green")
    await job.eddy("topics", "apply")
    wanted = job_topics(f"{job.prefix}eddy", job.prefix, partitions=2, replicas=1)
    names = {topic.name for topic in wanted.topics}
    assert all(name.startswith(job.prefix) for name in names)
    assert set(await stage.partition_counts(names)) == names
    await stage.offsets_are_kept()
    await job.eddy("doctor")
