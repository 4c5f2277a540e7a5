"""A worker that dies between any two effects of an epoch: its successor makes up for it."""

import itertools

import pytest

from streams.core.domain.topic import Topic
from streams.worker.crash_point import AT_LEAST_ONCE, EXACTLY_ONCE, CrashPoint
from tests.integration.load import load
from tests.integration.reference_fold import Verdict
from tests.integration.stage import SOON_MISSED, Stage

pytestmark = pytest.mark.integration
kafka_only = pytest.mark.kafka_only("the embedded broker has no transactions")

KILLED = 128 + 9
RUN = 40
#: Which time of reaching a point is the last. The ledger is written once for each of the four partitions.
TIMES = dict.fromkeys(CrashPoint, 6) | {CrashPoint.SETTINGS_ACKED: 2, CrashPoint.COMMITTED: 1}


@pytest.mark.parametrize("point", AT_LEAST_ONCE)
async def test_a_worker_killed_at(stage: Stage, point: CrashPoint) -> None:
    verdict = await killed_at(stage, point)
    assert verdict.repeated[Topic.ENRICHED] <= stage.partitions * RUN


@kafka_only
@pytest.mark.parametrize("point", EXACTLY_ONCE)
async def test_with_transactions_nothing_comes_twice_of_a_worker_killed_at(
    stage: Stage, point: CrashPoint
) -> None:
    verdict = await killed_at(stage, point, processing_guarantee="exactly_once")
    assert sum(verdict.repeated.values()) == 0, verdict.repeated
    if point is CrashPoint.TRANSACTION_ACKED:  # at the others another partition may be there
        assert await stage.aborted(Topic.ENRICHED) > 0


async def killed_at(stage: Stage, point: CrashPoint, **settings: object) -> Verdict:
    """Let a worker die, a successor make up for it under other settings, and compare all that came out."""
    records = load(stage.partitions)
    await stage.publish_settings(entropy_window_size=4)
    await stage.publish_shadow(entropy_window_size=3)
    await stage.send(itertools.islice(records, 800))
    settings = {"run_max_records": RUN, **settings}
    first = stage.worker(crash_point=f"{point}:{TIMES[point]}", **SOON_MISSED, **settings)
    assert await first.ended() == KILLED, first.tail()

    # What the first may have put out already keeps its settings; what comes later has the new ones.
    await stage.publish_settings(entropy_window_size=3)
    await stage.publish_shadow(entropy_window_size=5)
    stage.worker(directory=first.directory / "data", **settings)
    await stage.processed()
    # The first send may still count as seen by the predecessor: a partition's end when its first run came.
    for _ in range(2):
        await stage.send(itertools.islice(records, 200))
        await stage.processed()
    verdict = await stage.verdict()
    assert verdict.outputs[Topic.SHADOW_DIFFERENCES] > 0
    by_partition = (await stage.versions_by_offset()).values()
    for versions in by_partition:
        assert versions == sorted(versions)
        assert 2 in versions
    # A partition that the first had not begun has the new settings from its beginning.
    assert set().union(*by_partition) == {1, 2}
    return verdict
