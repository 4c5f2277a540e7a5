"""Records of any size: none of them stops a worker, and what cannot be kept whole is told."""

import itertools
from dataclasses import replace

import pytest

from streams.cli.command_group import WRONG_INPUT
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.kafka.topic_identity import job_topics
from streams.operate.redrive.letter import read
from streams.worker.options import changelog_topic
from tests.integration.load import Sending, as_json, decision, keyed, load
from tests.integration.reference_fold import value_of
from tests.integration.stage import Stage, delete_topics
from tests.integration.worker_process import PATIENCE_SECONDS, until
from topics.plan import CreateTopic

pytestmark = pytest.mark.integration

MEBIBYTE = 1 << 20


async def create_with(stage: Stage, topic: str, most: int) -> None:
    """Create a topic again that takes records of so many bytes at most."""
    await delete_topics(stage.broker, [topic])
    catalogue = job_topics(stage.application_id, partitions=stage.partitions, replicas=stage.replicas)
    spec = catalogue[topic]
    smaller = replace(spec, config={**spec.config, "max.message.bytes": str(most)})
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        await brokers.apply([CreateTopic(smaller)])


def sized(session_id: str, size: int, *, number: int = 0) -> Sending:
    """Return a record whose value has exactly so many bytes."""
    value = decision(session_id, number, tool_input="")
    value["action"]["tool_input"] = "x" * (size - len(as_json(value)))
    raw = as_json(value)
    assert len(raw) == size
    return 0, Outgoing(session_id.encode(), raw, value["meta"]["timestamp"])


def undecodable(size: int) -> Sending:
    """Return a record nobody can read."""
    return 0, Outgoing(b"key", b"\xff" * size, decision("s", 0)["meta"]["timestamp"])


@pytest.mark.kafka_only("the embedded broker keeps to no size")
async def test_up_to_the_limit_a_record_is_scored_and_above_it_is_a_dead_letter(stage: Stage) -> None:
    await create_with(stage, Topic.DECISION_LOGS, 4 * MEBIBYTE)
    # A fetch is smaller than either record.
    worker = await stage.worker(max_value_bytes=MEBIBYTE, fetch_max_bytes=100_000).ready()
    large = [sized("fits", MEBIBYTE), sized("too-large", MEBIBYTE + 1)]
    await stage.send([*large, *itertools.islice(load(stage.partitions), 100)])
    await stage.processed()
    assert "fits" in {value_of(stored)["session_id"] for stored in await stage.read(Topic.ENRICHED)}
    letters = {letter.key: letter for letter in map(read, await stage.read(Topic.DEAD_LETTERS))}
    assert (letters[b"too-large"].reason, letters[b"too-large"].cut) == ("oversize", "")
    assert letters[b"too-large"].value == large[1][1].value
    assert (await worker.get("/livez"))[0] == 200


@pytest.mark.kafka_only("the embedded broker keeps to no size")
async def test_a_letter_that_is_larger_than_its_topic_takes_is_cut_and_the_job_goes_on(stage: Stage) -> None:
    await create_with(stage, Topic.DEAD_LETTERS, 600_000)
    worker = await stage.worker(producer_compression="none").ready()
    await stage.send([undecodable(900_000), *itertools.islice(load(stage.partitions), 100)])
    await stage.processed()
    [letter] = [each for each in map(read, await stage.read(Topic.DEAD_LETTERS)) if each.key == b"key"]
    assert letter.cut == "value 900000"
    assert 500_000 < len(letter.value or b"") < 600_000
    assert letter.source is not None
    place = f"{letter.partition}:{letter.offset}"
    status, said, _ = await stage.attempt("dlq", "redrive", place, "--yes")
    assert status == 1
    assert "does not hold all of the message" in said
    assert (await worker.get("/livez"))[0] == 200


@pytest.mark.kafka_only("the embedded broker keeps to no size")
async def test_a_record_that_becomes_larger_than_its_output_takes_is_a_dead_letter(stage: Stage) -> None:
    await create_with(stage, Topic.ENRICHED, 600_000)
    await stage.worker(producer_compression="none").ready()
    await stage.send([sized("large", 700_000), *itertools.islice(load(stage.partitions), 100)])
    await stage.processed()
    letters = {letter.key: letter for letter in map(read, await stage.read(Topic.DEAD_LETTERS))}
    assert letters[b"large"].reason == "oversize"
    assert "decision-logs-enriched takes (600000 bytes)" in letters[b"large"].detail
    assert len(letters[b"large"].value or b"") == 700_000


@pytest.mark.kafka_only("the embedded broker keeps to no size")
async def test_a_session_that_would_outgrow_its_changelog_sets_records_aside_and_the_job_goes_on(
    stage: Stage,
) -> None:
    most = 600_000
    changelog = changelog_topic(stage.application_id)
    await create_with(stage, changelog, most)
    await stage.publish_settings(entropy_window_size=1_000)
    worker = await stage.worker(producer_compression="none").ready()
    # Each of them is kept: 1,000 would be a megabyte.
    growing = [keyed(decision("grows", at, intent=f"{at:04}" * 250), stage.partitions) for at in range(300)]
    await stage.send([*growing, *itertools.islice(load(stage.partitions), 100)])
    await stage.processed()
    letters = [each for each in map(read, await stage.read(Topic.DEAD_LETTERS)) if each.key == b"grows"]
    enriched = [value_of(stored) for stored in await stage.read(Topic.ENRICHED)]
    scored = sum(value["session_id"] == "grows" for value in enriched)
    assert {letter.reason for letter in letters} == {"oversize"}
    assert changelog in letters[0].detail
    assert len(letters) + scored == 300
    assert scored > 100
    stored: list[int] = []

    async def is_stored() -> bool:
        found = [each for each in await stage.read(changelog) if each.key == b"sgrows"]
        stored.extend(len(each.value or b"") for each in found)
        return bool(stored)

    # The states that changed are written after some seconds; a commit does not wait for them.
    await until(is_stored, PATIENCE_SECONDS, "the state of the session", worker)
    assert most / 5 < max(stored) <= most / 4
    assert (await worker.get("/livez"))[0] == 200


@pytest.mark.kafka_only("the embedded broker keeps to no size")
async def test_a_topic_that_takes_less_than_a_batch_is_told_at_the_start(stage: Stage) -> None:
    await create_with(stage, Topic.TOPOLOGY, 100_000)
    worker = stage.worker()
    assert await worker.ended() == WRONG_INPUT, worker.tail()
    last = worker.log.splitlines()[-1]
    assert "topology: takes 100000 bytes" in last
    assert "EDDY_PRODUCER_MAX_BATCH_BYTES" in last
