"""A topic that is deleted, created again or cut short is noticed and told, never passed over in silence."""

import itertools

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions
from aiokafka.admin.records_to_delete import RecordsToDelete

from streams.cli.command_group import BROKER_UNREACHABLE, PROBLEM_FOUND, WRONG_INPUT
from streams.core.domain.topic import Topic
from streams.worker.options import AGGREGATES, changelog_topic, repartition_topic
from tests.integration.load import load
from tests.integration.stage import Stage, delete_topics
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until

pytestmark = pytest.mark.integration


async def scored_once(stage: Stage, records: int = 200) -> WorkerProcess:
    """Let a worker score some records and leave in order."""
    worker = await stage.worker().ready()
    await stage.send(itertools.islice(load(stage.partitions), records))
    await stage.processed()
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()
    return worker


async def create_again(stage: Stage, *topics: str) -> None:
    """Delete topics and create them again."""
    await delete_topics(stage.broker, topics)
    if str(Topic.DECISION_LOGS) in topics:
        stage.sent = dict.fromkeys(stage.sent, 0)
    await stage.create_topics()


@pytest.mark.parametrize("records", [40, 600], ids=["fewer records", "more records"])
async def test_an_input_topic_created_again_under_old_state_is_refused(stage: Stage, records: int) -> None:
    before = await scored_once(stage)
    scored = len(await stage.read(Topic.ENRICHED))
    await create_again(stage, Topic.DECISION_LOGS)
    await stage.send(itertools.islice(load(stage.partitions), records))
    for directory in (before.directory / "data", None):  # state on the disk, and in the changelog alone
        worker = stage.worker(directory=directory)
        assert await worker.ended() == PROBLEM_FOUND, worker.tail()
        assert "decision-logs was deleted and created again" in worker.log
        assert "EDDY_APPLICATION_ID" in worker.log
        assert "eddy topics apply" in worker.log
        assert "Traceback" not in worker.log
    assert len(await stage.read(Topic.ENRICHED)) == scored


async def test_after_doing_what_the_refusal_says_everything_is_scored_from_the_beginning(
    stage: Stage,
) -> None:
    await scored_once(stage)
    await create_again(stage, Topic.DECISION_LOGS)
    await stage.send(itertools.islice(load(stage.partitions), 300))
    assert await stage.worker().ended() == PROBLEM_FOUND
    group = stage.application_id
    internal = [repartition_topic(group), changelog_topic(group), changelog_topic(group, AGGREGATES)]
    await create_again(stage, *internal, Topic.ENRICHED)
    await stage.worker().ready()
    await stage.processed()
    assert len(await stage.read(Topic.ENRICHED)) > 0


async def test_a_topic_deleted_under_a_running_worker_stops_it(stage: Stage) -> None:
    worker = await stage.worker().ready()
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await stage.processed()
    await delete_topics(stage.broker, [Topic.DECISION_LOGS])
    assert await worker.ended() == BROKER_UNREACHABLE, worker.tail()
    assert "Topic decision-logs is gone" in worker.log.splitlines()[-1]


@pytest.mark.parametrize("records", [40, 600], ids=["fewer records", "more records"])
async def test_a_topic_created_again_under_a_running_worker_stops_it(stage: Stage, records: int) -> None:
    worker = await stage.worker().ready()
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await stage.processed()
    await create_again(stage, Topic.DECISION_LOGS)
    await stage.send(itertools.islice(load(stage.partitions), records))
    assert await worker.ended() == PROBLEM_FOUND, worker.tail()
    last = worker.log.splitlines()[-1]
    assert "EDDY_APPLICATION_ID" in last
    successor = stage.worker(directory=worker.directory / "data")
    assert await successor.ended() == PROBLEM_FOUND, successor.tail()
    assert "decision-logs was deleted and created again" in successor.log


async def test_settings_of_a_topic_created_again_are_told_to_be_too_low_and_can_be_put_above(
    stage: Stage,
) -> None:
    for size in (7, 8):
        await stage.publish_settings(entropy_window_size=size)
    before = await scored_once(stage)
    await create_again(stage, Topic.DETECTOR_CONFIG)
    await stage.publish_settings(entropy_window_size=9)
    worker = await stage.worker(directory=before.directory / "data").ready()
    await stage.send(itertools.islice(load(stage.partitions), 200, 400))
    await stage.processed()
    assert "keeps to settings version 2: the newest that is published is version 1" in worker.log
    assert "--version 3" in worker.log
    await stage.command("config", "set", "entropy_window_size=10", "--version", "3")

    async def adopted() -> bool:
        await stage.send(itertools.islice(load(stage.partitions), 400, 440))
        versions = [await worker.metric("eddy_settings_version", partition=str(n)) for n in stage.sent]
        return set(versions) == {3}

    await until(adopted, PATIENCE_SECONDS, "version 3 in force", worker)


@pytest.mark.kafka_only("the embedded broker deletes no records")
async def test_records_deleted_before_they_were_read_are_counted_and_told(stage: Stage) -> None:
    before = await scored_once(stage)
    await stage.send(itertools.islice(load(stage.partitions), 200, 400))
    behind = {TopicPartition(Topic.DECISION_LOGS, 0): stage.sent[0] - 10}
    admin = AIOKafkaAdminClient(bootstrap_servers=stage.broker.bootstrap)
    await admin.start()
    [committed] = (
        await admin.list_consumer_group_offsets(stage.application_id, partitions=list(behind))
    ).values()
    await admin.delete_records({tp: RecordsToDelete(offset) for tp, offset in behind.items()})
    await admin.close()
    worker = await stage.worker(directory=before.directory / "data").ready()
    await stage.processed()
    lost = stage.sent[0] - 10 - committed.offset
    assert lost > 0
    assert await worker.metric("eddy_records_lost_total", topic="decision-logs", partition="0") == lost
    assert f"{lost} records of decision-logs[0] were deleted before they were read" in worker.log


@pytest.mark.kafka_only("the embedded broker commits no offset for others")
async def test_a_log_that_ends_before_what_was_read_is_refused(stage: Stage) -> None:
    before = await scored_once(stage)
    async with AIOKafkaConsumer(
        bootstrap_servers=stage.broker.bootstrap, group_id=stage.application_id, enable_auto_commit=False
    ) as member:
        # As if the brokers had lost what stood there: the group is further than the log.
        tp = TopicPartition(Topic.DECISION_LOGS, 0)
        member.assign([tp])
        await member.commit({tp: stage.sent[0] + 7})
    worker = stage.worker(directory=before.directory / "data")
    assert await worker.ended() == PROBLEM_FOUND, worker.tail()
    last = worker.log.splitlines()[-1]
    assert f"decision-logs[0] was read up to offset {stage.sent[0] + 7}" in last
    assert "EDDY_APPLICATION_ID" in last


@pytest.mark.parametrize("lost", ["input", "contributions"])
async def test_aggregates_of_a_topic_that_was_created_again_are_refused(stage: Stage, lost: str) -> None:
    await scored_once(stage)
    group = stage.application_id
    topic = {"input": str(Topic.DECISION_LOGS), "contributions": repartition_topic(group)}[lost]
    # The sessions know nothing of it: their state is gone as well.
    await create_again(stage, topic, changelog_topic(group))
    worker = stage.worker()
    assert await worker.ended() == PROBLEM_FOUND, worker.tail()
    last = worker.log.splitlines()[-1]
    assert f"Topic {topic} was deleted and created again" in last
    assert changelog_topic(group, AGGREGATES) in last


async def test_local_state_of_a_changelog_that_was_created_again_is_refused(stage: Stage) -> None:
    before = await scored_once(stage)
    await create_again(stage, changelog_topic(stage.application_id))
    worker = stage.worker(directory=before.directory / "data")
    assert await worker.ended() == PROBLEM_FOUND, worker.tail()
    last = worker.log.splitlines()[-1]
    assert f"Topic {changelog_topic(stage.application_id)} was deleted and created again" in last
    assert "begin again" in last


@pytest.mark.kafka_only("the embedded broker adds no partitions")
async def test_partitions_that_were_added_under_a_running_worker_stop_it(stage: Stage) -> None:
    worker = await stage.worker(faust='{"consumer_metadata_max_age_ms": 1000}').ready()
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await stage.processed()
    admin = AIOKafkaAdminClient(bootstrap_servers=stage.broker.bootstrap)
    await admin.start()
    await admin.create_partitions({Topic.DECISION_LOGS: NewPartitions(stage.partitions + 1)})
    await admin.close()
    assert await worker.ended() == BROKER_UNREACHABLE, worker.tail()
    assert f"decision-logs[{stage.partitions}] was assigned without" in worker.log.splitlines()[-1]
    successor = stage.worker(directory=worker.directory / "data")
    assert await successor.ended() == WRONG_INPUT, successor.tail()
    assert "A partition count cannot change under existing state" in successor.log.splitlines()[-1]
    await stage.verdict()
