"""Workers come, go and are killed under load: nothing is lost, nothing counted twice, no state is wrong."""

import itertools

import pytest

from streams.core.domain.topic import Topic
from streams.worker.crash_point import CrashPoint
from streams.worker.options import AGGREGATES, changelog_topic, repartition_topic
from streams.worker.state.changelog import SETTINGS_KEY
from streams.worker.state.checkpoint import MARK_KEY
from tests.integration.load import load
from tests.integration.reference_fold import OUTPUT_TOPICS
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until

pytestmark = pytest.mark.integration


async def share(worker: WorkerProcess, partitions: int) -> None:
    """Wait until a worker is ready with so many partitions."""

    async def shares() -> bool:
        _, metrics = await worker.get("/metrics")
        lags = [line for line in metrics.splitlines() if line.startswith("eddy_consumer_lag{")]
        mine = sum('topic="decision-logs"' in line for line in lags)
        return mine == partitions and (await worker.get("/readyz"))[0] == 200

    await until(shares, PATIENCE_SECONDS, f"a share of {partitions} partitions", worker)


async def test_one_of_two_killed_under_load_and_a_third_that_joins_after_the_takeover(stage: Stage) -> None:
    # The one that is killed has committed nothing: its successor begins at the beginning.
    staying, killed = stage.worker(), stage.worker(commit_interval_s=600, **SOON_MISSED)
    async with stage.pouring(load(stage.partitions)):
        await share(staying, 2)
        await share(killed, 2)
        await killed.has_processed(200)
        killed.kill()
        await share(staying, 4)
        joining = stage.worker(directory=killed.directory / "data")
        await share(joining, 2)
        await joining.has_processed(100)
    await stage.processed()
    verdict = await stage.verdict()
    assert verdict.repeated[Topic.ENRICHED] <= 2 * 50, "more than the run each of its partitions was at"


async def test_a_worker_that_joins_and_leaves_in_order_makes_nothing_come_twice(stage: Stage) -> None:
    staying = stage.worker()
    async with stage.pouring(load(stage.partitions)):
        await share(staying, 4)
        leaving = stage.worker()
        await share(leaving, 2)
        await leaving.has_processed(200)
        leaving.terminate()
        assert await leaving.ended() == 0, leaving.tail()
        await share(staying, 4)
    await stage.processed()
    verdict = await stage.verdict()
    assert sum(verdict.repeated.values()) == 0, verdict


async def test_a_worker_that_joins_and_leaves_while_others_are_full_of_work(stage: Stage) -> None:
    # Two records at a time: far more runs than the lanes hold.
    records = load(stage.partitions)
    await stage.send(itertools.islice(records, 4000))
    staying = stage.worker(run_max_records=2)
    await staying.has_processed(1)
    leaving = stage.worker(run_max_records=2)
    async with stage.pouring(records):  # one that is slow to start finds work, too
        await leaving.has_processed(1)
        leaving.terminate()
        assert await leaving.ended() == 0, leaving.tail()
    await stage.processed()
    verdict = await stage.verdict()
    assert sum(verdict.repeated.values()) == 0, verdict


async def test_one_worker_becomes_three_under_load(stage: Stage) -> None:
    first = stage.worker()
    async with stage.pouring(load(stage.partitions)):
        await share(first, 4)
        await first.has_processed(200)
        others = [stage.worker(), stage.worker()]
        for worker in others:
            await worker.has_processed(100)
    await stage.processed()
    await stage.verdict()


@pytest.mark.parametrize("point", [CrashPoint.FOLDED, CrashPoint.OUTPUTS_ACKED])
async def test_a_worker_suspended_in_the_middle_of_a_run_publishes_nothing_when_it_wakes(
    stage: Stage, point: CrashPoint
) -> None:
    await stage.send(itertools.islice(load(stage.partitions), 1000))
    suspended = stage.worker(crash_point=f"{point}:5:stop", **SOON_MISSED)
    await suspended.stands_still()
    other = stage.worker(**SOON_MISSED)
    await share(other, 4)
    await stage.processed()
    await stage.written()
    before = await written(stage)
    suspended.signal("CONT")
    await share(suspended, 2)
    await share(other, 2)
    assert await written(stage) == before
    verdict = await stage.verdict()
    assert verdict.repeated[Topic.ENRICHED] <= stage.partitions * 50


async def written(stage: Stage) -> dict[str, int]:
    """Return how many records stand in each topic that workers write to.

    Without what a worker says of itself when it gives partitions away.
    """
    group = stage.application_id
    topics = [
        *OUTPUT_TOPICS,
        repartition_topic(group),
        changelog_topic(group),
        changelog_topic(group, AGGREGATES),
    ]
    return {
        topic: sum(stored.key not in {SETTINGS_KEY, MARK_KEY} for stored in await stage.read(topic))
        for topic in topics
    }
