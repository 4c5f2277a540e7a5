"""The steps of a session: read from their places, searched for without, and told when they are gone."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.records_to_delete import RecordsToDelete

from schemas.codec import Codec
from streams.console.archive.archive import Archive
from streams.console.read_model.model import ReadModel
from streams.console.read_model.tables import SESSION
from streams.console.timeline import ReadProgress, StepReader
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers, connect
from streams.kafka.clock import now_ms
from streams.kafka.connection import Connection
from streams.kafka.reading import partition_of
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS
from tests.unit.console.told import everything

pytestmark = pytest.mark.integration

ENRICHED = [told for told in everything() if told.topic is Topic.ENRICHED]
ONE = ENRICHED[0].fields or {}


def step_of(session_id: str, number: int) -> dict[str, Any]:
    eddy = {**ONE["eddy"], "id": f"{session_id}/1/{number}/enriched"}
    return {**ONE, "session_id": session_id, "eddy": eddy}


@pytest.fixture
async def brokers(stage: Stage) -> AsyncIterator[Brokers]:
    async with connect(Connection(stage.broker.bootstrap)) as connected:
        yield connected


@pytest.fixture
def archive(tmp_path: Path) -> Any:
    made = Archive(tmp_path / "archive")
    yield made
    made.close()


async def write(
    brokers: Brokers, stage: Stage, sessions: Sequence[str], rounds: int
) -> dict[str, list[tuple[int, int]]]:
    """Write a step of each session in turn, into its partition; return the places by session."""
    records, whose = [], []
    for number, session_id in itertools.product(range(rounds), sessions):
        partition = partition_of(session_id.encode(), stage.partitions)
        value = orjson.dumps(step_of(session_id, number))
        records.append((partition, Outgoing(session_id.encode(), value, now_ms() + number)))
        whose.append(session_id)
    places: dict[str, list[tuple[int, int]]] = {}
    for session_id, place in zip(whose, await brokers.write(Topic.ENRICHED, records), strict=True):
        places.setdefault(session_id, []).append(place)
    return places


def indexed(places: dict[str, list[tuple[int, int]]]) -> ReadModel:
    model = ReadModel()
    for session_id, of_session in places.items():
        case = model.case(session_id)
        for place in of_session:
            case.session.places.add(*place)
        case.session.seen(now_ms())
    return model


async def test_steps_are_read_from_their_places_in_pages(
    stage: Stage, brokers: Brokers, archive: Archive
) -> None:
    places = await write(brokers, stage, ["a", "b", "c"], 30)
    timeline = StepReader(brokers, Codec.bundled(), indexed(places), archive)
    newest = await timeline.steps("b", limit=10)
    assert [step.number for step in newest.steps] == list(range(21, 31))
    assert [(step.partition, step.offset) for step in newest.steps] == [(1, n) for n in range(20, 30)]
    assert [step.enriched_offset for step in newest.steps] == [offset for _, offset in places["b"][20:]]
    assert all(step.record["session_id"] == "b" for step in newest.steps)
    assert (newest.earlier, newest.gaps, newest.lost_before, newest.from_topic) == (True, 0, None, False)
    rest = await timeline.steps("b", before=newest.steps[0].number, limit=100)
    assert [step.number for step in rest.steps] == list(range(1, 21))
    assert not rest.earlier


async def test_a_record_of_another_shape_is_a_gap_and_not_the_end_of_the_page(
    stage: Stage, brokers: Brokers, archive: Archive
) -> None:
    good = step_of("a", 0)
    odd = [
        {**step_of("a", 1), "eddy": {"id": "a/0/1/enriched"}},
        {**step_of("a", 2), "action": [1]},
        {
            **step_of("a", 3),
            "eddy": {**ONE["eddy"], "id": "a/0/3/enriched", "events": [{"event_type": "new"}]},
        },
    ]
    partition = partition_of(b"a", stage.partitions)
    records = [
        (partition, Outgoing(b"a", value, now_ms()))
        for value in (*map(orjson.dumps, [good, *odd]), b"no JSON", b"")
    ]
    places = {"a": await brokers.write(Topic.ENRICHED, records)}
    steps = await StepReader(brokers, Codec.bundled(), indexed(places), archive).steps("a")
    assert [step.record["eddy"]["id"] for step in steps.steps] == [good["eddy"]["id"]]
    assert steps.gaps == len(records) - 1


async def test_scattered_places_are_read_by_few_seeks_and_what_was_read_is_not_read_again(
    stage: Stage, brokers: Brokers, archive: Archive
) -> None:
    one_partition = [
        name for name in map(str, range(1_000)) if partition_of(name.encode(), stage.partitions) == 1
    ]
    places = await write(brokers, stage, one_partition[:210], 12)
    timeline = StepReader(brokers, Codec.bundled(), indexed(places), archive)
    told: list[ReadProgress] = []
    steps = await timeline.steps(one_partition[7], progress=told.append)
    assert len(steps.steps) == 12
    assert sorted(told) == [ReadProgress(1, number, 12) for number in range(1, 13)]
    told.clear()
    assert (await timeline.steps(one_partition[7], progress=told.append)).steps == steps.steps
    assert told == []


async def test_a_record_that_stands_there_twice_is_one_step(
    stage: Stage, brokers: Brokers, archive: Archive
) -> None:
    first, again = await write(brokers, stage, ["a"], 3), await write(brokers, stage, ["a"], 4)
    model = indexed({"a": [*first["a"], *again["a"]]})
    steps = await StepReader(brokers, Codec.bundled(), model, archive).steps("a")
    assert [step.offset for step in steps.steps] == [0, 1, 2, 3]


async def test_a_session_that_is_not_in_memory_is_known_by_the_archive(
    stage: Stage, brokers: Brokers, archive: Archive
) -> None:
    places = await write(brokers, stage, ["a", "b"], 5)
    archive.save([(SESSION, case.session.row()) for case in indexed(places).cases.values()], []).result()
    steps = await StepReader(brokers, Codec.bundled(), ReadModel(), archive).steps("a")
    assert (len(steps.steps), steps.from_topic) == (5, False)


@pytest.mark.parametrize("session_id", ["a", "elsewhere"])
async def test_without_an_index_the_topic_is_searched_and_again_only_what_is_new(
    stage: Stage, brokers: Brokers, archive: Archive, session_id: str
) -> None:
    await write(brokers, stage, ["a", "b", "c"], 20)
    wrong = (partition_of(b"elsewhere", stage.partitions) + 1) % stage.partitions
    value = orjson.dumps(step_of("elsewhere", 0))
    await brokers.write(Topic.ENRICHED, [(wrong, Outgoing(b"elsewhere", value, now_ms()))])
    timeline = StepReader(brokers, Codec.bundled(), ReadModel(), archive, from_beginning=True)
    found = await timeline.steps(session_id)
    assert (len(found.steps), found.from_topic) == ({"a": 20, "elsewhere": 1}[session_id], True)
    await write(brokers, stage, ["a"], 21)
    again = await timeline.steps(session_id)
    assert len(again.steps) == {"a": 21, "elsewhere": 1}[session_id]
    assert not (await timeline.steps("nowhere")).steps


async def test_a_search_can_be_given_up_and_taken_up_again(
    stage: Stage, brokers: Brokers, archive: Archive
) -> None:
    await write(brokers, stage, ["a"], 50)
    timeline = StepReader(brokers, Codec.bundled(), ReadModel(), archive, from_beginning=True)
    begun = asyncio.Event()

    def told(progress: ReadProgress) -> None:
        begun.set()

    search = asyncio.create_task(timeline.steps("a", progress=told))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await begun.wait()
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert len((await timeline.steps("a")).steps) == 50


async def test_where_steps_are_not_searched_for_there_are_none(brokers: Brokers, archive: Archive) -> None:
    timeline = StepReader(brokers, Codec.bundled(), ReadModel(), archive, searches=False)
    assert not (await timeline.steps("a")).steps


@pytest.mark.kafka_only("the embedded broker deletes no records")
async def test_steps_that_the_topic_no_longer_holds_are_told(
    stage: Stage, brokers: Brokers, archive: Archive
) -> None:
    places = await write(brokers, stage, ["a"], 30)
    admin = AIOKafkaAdminClient(bootstrap_servers=stage.broker.bootstrap)
    await admin.start()
    partition, offset = places["a"][12]
    try:
        tp = TopicPartition(Topic.ENRICHED, partition)
        await admin.delete_records({tp: RecordsToDelete(before_offset=offset)})
    finally:
        await admin.close()
    timeline = StepReader(brokers, Codec.bundled(), indexed(places), archive)
    steps = await timeline.steps("a")
    assert (len(steps.steps), steps.gaps, steps.earlier) == (18, 12, False)
    assert steps.steps[0].number == 13
    assert steps.lost_before is not None
    assert steps.why_lost == "retention.ms of decision-logs-enriched"
