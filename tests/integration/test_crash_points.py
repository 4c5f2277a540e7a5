"""A worker that dies between any two effects of an epoch: its successor makes up for it."""

import itertools

import pytest

from streams.domain.topic import Topic
from streams.engine.crash_point import CrashPoint
from tests.integration.load import load
from tests.integration.stage import Stage

pytestmark = pytest.mark.integration

KILLED = 128 + 9
RUN = 40
#: Which time of reaching a point is the last. The ledger is written once for each of the four partitions.
TIMES = dict.fromkeys(CrashPoint, 6) | {CrashPoint.SETTINGS_ACKED: 2, CrashPoint.COMMITTED: 1}


@pytest.mark.parametrize("point", list(CrashPoint))
async def test_a_worker_killed_at(stage: Stage, point: CrashPoint) -> None:
    records = load(stage.partitions)
    await stage.publish_settings(entropy_window_size=4)
    await stage.publish_shadow(entropy_window_size=3)
    await stage.send(itertools.islice(records, 800))
    # Nobody else is there who could be taken for dead too early.
    hasty = {"session_timeout_s": 2, "heartbeat_interval_s": 0.5, "run_max_records": RUN}
    first = stage.worker(crash_point=f"{point}:{TIMES[point]}", **hasty)
    assert await first.ended() == KILLED, first.tail()

    # What the first may have put out already keeps its settings; what comes later has the new ones.
    await stage.publish_settings(entropy_window_size=3)
    await stage.publish_shadow(entropy_window_size=5)
    stage.worker(directory=first.directory / "data", **hasty)
    await stage.processed()
    # The first send may still count as seen by the predecessor: a partition's end when its first run came.
    for _ in range(2):
        await stage.send(itertools.islice(records, 200))
        await stage.processed()
    verdict = await stage.verdict()
    assert verdict.repeated[Topic.ENRICHED] <= stage.partitions * RUN
    assert verdict.outputs[Topic.SHADOW_DIFFERENCES] > 0
    by_partition = (await stage.versions_by_offset()).values()
    for versions in by_partition:
        assert versions == sorted(versions)
        assert 2 in versions
    # A partition that the first had not begun has the new settings from its beginning.
    assert set().union(*by_partition) == {1, 2}
