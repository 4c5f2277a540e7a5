"""The views across sessions are right whatever happens to the workers that make them."""

import itertools
from dataclasses import replace

import pytest

from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.kafka.topic_identity import job_topics
from streams.worker.crash_point import CrashPoint
from streams.worker.options import AGGREGATES
from tests.integration.load import load
from tests.integration.reference_fold import value_of
from tests.integration.stage import SOON_MISSED, Stage
from topics.plan import CreateTopic

pytestmark = pytest.mark.integration

KILLED = 128 + 9


async def test_agents_tools_and_tasks_are_counted_over_all_sessions(stage: Stage) -> None:
    stage.worker()
    await stage.send(itertools.islice(load(stage.partitions), 2000))
    await stage.processed()
    await stage.verdict()
    health = {stored.key: value_of(stored) for stored in await stage.read(Topic.AGENT_HEALTH)}
    assert health.keys() == {b"agent-0", b"agent-1", b"agent-2", b"tool/shell"}
    for told in health.values():
        assert told["sessions_day"] >= told["sessions_hour"] >= told["looping_now"] > 0
        assert min(told["episodes_hour"], told["wasted_tokens_hour"]) > 0
    assert (health[b"agent-0"]["scope"], health[b"tool/shell"]["scope"]) == ("agent", "tool")
    assert all(health[b"agent-%d" % number]["cross_chains"] for number in range(3))
    assert health[b"tool/shell"]["cross_chains"] == []
    profiles = {stored.key: value_of(stored) for stored in await stage.read(Topic.TASK_PROFILES)}
    assert profiles.keys() == {b"api", b"refactoring"}
    assert all(told["recommendation"]["samples"] > 1 for told in profiles.values())


@pytest.mark.parametrize(
    "point",
    [CrashPoint.FOLDED, CrashPoint.OUTPUTS_ACKED, CrashPoint.CHANGELOG_ACKED, CrashPoint.STORED],
)
async def test_one_of_two_workers_killed_in_an_epoch_of_the_aggregates_at(
    stage: Stage, point: CrashPoint
) -> None:
    records = load(stage.partitions)
    killed = stage.worker(crash_point=f"{AGGREGATES}.{point}:5", **SOON_MISSED)
    staying = stage.worker()
    await staying.ready()
    async with stage.pouring(records):
        assert await killed.ended() == KILLED, killed.tail()
    await stage.send(itertools.islice(records, 200))
    await stage.processed()
    await stage.verdict()


async def test_the_topic_between_the_two_epochs_may_have_another_number_of_partitions(stage: Stage) -> None:
    job = job_topics("other", partitions=stage.partitions, replicas=1)
    own = [
        replace(topic, partitions=3) if AGGREGATES in topic.name else topic
        for topic in job.topics
        if topic.internal
    ]
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        await brokers.apply([CreateTopic(topic) for topic in own])
    stage.application_id = "other"
    first = stage.worker()
    await first.ready()
    await stage.send(itertools.islice(load(stage.partitions), 400))
    await first.has_processed(100)
    second = stage.worker()
    await second.ready()
    await stage.send(itertools.islice(load(stage.partitions), 400, 800))
    await stage.processed()
    await stage.verdict()
