"""Sessions that were not written when a worker ended are made again from their records; nothing else is."""

import itertools

import pytest

from streams.core.domain.topic import Topic
from streams.worker.options import changelog_topic
from tests.integration.load import load
from tests.integration.stage import SOON_MISSED, Stage

pytestmark = pytest.mark.integration

#: Longer than the test takes.
LONG_S = 600
READ_AGAIN = "is read again from offset"


async def written_sessions(stage: Stage) -> int:
    """Return how many records of sessions the changelog has."""
    found = await stage.read(changelog_topic(stage.application_id))
    return sum(stored.key is not None and stored.key.startswith(b"s") for stored in found)


@pytest.mark.parametrize(
    "guarantee",
    [
        "at_least_once",
        pytest.param("exactly_once", marks=pytest.mark.kafka_only("the embedded broker has no transactions")),
    ],
)
async def test_what_a_killed_worker_has_not_written_is_read_again_and_put_out_once(
    stage: Stage, guarantee: str
) -> None:
    await stage.send(itertools.islice(load(stage.partitions), 900))
    settings = {"processing_guarantee": guarantee, **SOON_MISSED}
    first = stage.worker(checkpoint_s=LONG_S, **settings)
    await stage.processed()
    assert await written_sessions(stage) == 0
    first.kill()

    second = stage.worker(directory=first.directory / "data", checkpoint_s=LONG_S, **settings)
    await stage.send(itertools.islice(load(stage.partitions), 900))
    await stage.processed()
    assert READ_AGAIN in second.log
    assert await written_sessions(stage) == 0
    second.kill()

    # Its disk is empty, and it writes with each run, as soon as it is where the others were.
    third = stage.worker(checkpoint_s=0, **settings)
    verdict = await stage.verdict()
    assert READ_AGAIN in third.log
    assert verdict.outputs[Topic.ENRICHED] > 1000
    assert sum(verdict.repeated.values()) == 0


async def test_a_worker_that_leaves_in_order_has_written_everything(stage: Stage) -> None:
    await stage.send(itertools.islice(load(stage.partitions), 900))
    first = stage.worker(checkpoint_s=LONG_S)
    await stage.processed()
    first.terminate()
    assert await first.ended() == 0, first.tail()
    written = await written_sessions(stage)
    assert written > 0

    await stage.send(itertools.islice(load(stage.partitions), 100))
    second = stage.worker(directory=first.directory / "data", checkpoint_s=LONG_S)
    await stage.processed()
    assert READ_AGAIN not in second.log
    second.terminate()
    assert await second.ended() == 0, second.tail()
    await stage.verdict()


async def test_sessions_that_are_met_often_are_written_once_an_interval(stage: Stage) -> None:
    await stage.send(itertools.islice(load(stage.partitions), 2000))
    stage.worker(run_max_records=10, checkpoint_s=2)
    await stage.processed()
    await stage.verdict()
    records = len(await stage.read(Topic.ENRICHED))
    assert await written_sessions(stage) < records / 2


async def test_more_sessions_than_may_wait_are_written_before_the_interval_ends(stage: Stage) -> None:
    await stage.send(itertools.islice(load(stage.partitions), 2000))
    stage.worker(run_max_records=10, checkpoint_s=LONG_S, session_cache=8)
    await stage.processed()
    assert await written_sessions(stage) > 0
