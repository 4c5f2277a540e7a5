"""How a worker starts, says how it is, and refuses to start."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from streams.engine.client import connect
from streams.engine.connection import Connection
from streams.engine.job_topics import job_topics
from streams.engine.options import AGGREGATES, SESSIONS, changelog_topic
from tests.integration.brokers import Broker
from tests.integration.load import load
from tests.integration.stage import Stage
from topics.plan import CreateTopic

pytestmark = pytest.mark.integration


async def test_it_is_alive_at_once_and_ready_only_when_its_state_is_restored(stage: Stage) -> None:
    worker = stage.worker()
    status, said = await worker.get("/readyz")
    assert status == 503, said
    assert (await worker.get("/livez"))[0] == 200
    assert "Restored" not in worker.log
    await worker.ready()
    assert "Restored 0 records of 4 partitions" in worker.log
    await stage.send(itertools.islice(load(stage.partitions), 100))
    await stage.processed()
    assert await worker.metric("eddy_decisions_total") == 100
    assert await worker.metric("eddy_consumer_lag", topic="decision-logs") == 0
    assert (await worker.get("/livez"))[0] == 200


async def test_without_its_topics_it_ends_and_says_what_to_do(stage_broker: Broker, tmp_path: Path) -> None:
    stage = Stage(stage_broker, tmp_path, application_id="nobody")
    worker = stage.worker()
    assert await worker.ended() not in {0, 128 + 9, 128 + 15}
    assert "eddy topics apply" in worker.log
    assert "Traceback" not in worker.log
    stage.close()


@pytest.mark.parametrize("table", [SESSIONS, AGGREGATES])
async def test_with_a_changelog_of_another_size_it_ends_and_says_what_to_do(stage: Stage, table: str) -> None:
    catalogue = job_topics("other", partitions=stage.partitions, replicas=1)
    smaller = replace(catalogue[changelog_topic("other", table)], partitions=stage.partitions - 1)
    others = [topic for topic in catalogue.topics if topic.internal and topic.name != smaller.name]
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        await brokers.apply([CreateTopic(topic) for topic in (smaller, *others)])
    worker = stage.worker(application_id="other")
    assert await worker.ended() not in {0, 128 + 9, 128 + 15}
    assert f"{smaller.name} has {smaller.partitions}" in worker.log
    assert "EDDY_APPLICATION_ID" in worker.log


async def test_on_the_topics_of_a_version_without_aggregates_it_ends_and_says_what_to_do(
    stage: Stage,
) -> None:
    catalogue = job_topics("before", partitions=stage.partitions, replicas=1)
    sessions_only = CreateTopic(catalogue[changelog_topic("before")])
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        await brokers.apply([sessions_only])
    worker = stage.worker(application_id="before")
    assert await worker.ended() not in {0, 128 + 9, 128 + 15}
    assert "before-aggregates-repartition, before-aggregates-changelog" in worker.log
    assert "eddy topics apply" in worker.log


async def test_fausts_own_command_runs_the_same_worker(stage: Stage) -> None:
    worker = stage.worker(command=("faust", "-A", "streams.app", "worker", "--without-web", "-l", "info"))
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await worker.ready()
    await stage.processed()
    await stage.verdict()
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()


async def test_the_tools_say_that_nobody_answers(stage: Stage) -> None:
    status, _, said = await stage.attempt(
        "topics", "plan", "--replicas", "1", bootstrap_servers="127.0.0.1:9"
    )
    assert status == 3, said
    assert "EDDY_BOOTSTRAP_SERVERS" in said
