"""Two agents that hand each other the same task are alerted, whatever happens to the worker."""

import pytest

from streams.core.domain.topic import Topic
from streams.kafka.client import Stored
from streams.worker.crash_point import CrashPoint
from streams.worker.options import AGGREGATES
from tests.integration.load import handing_sessions, partition_of, ping_pong
from tests.integration.reference_fold import value_of
from tests.integration.stage import SOON_MISSED, Stage

pytestmark = pytest.mark.integration

KILLED = 128 + 9


async def alerts(stage: Stage) -> list[Stored]:
    stored = await stage.read(Topic.SESSION_ALERTS)
    return [each for each in stored if value_of(each)["event_type"] == "handover_loop"]


def told(stage: Stage) -> set[tuple[str, str, str, int]]:
    """Return session, other session, level and partition of each alert that is due."""
    one, two = handing_sessions(stage.partitions).values()
    return {
        (session, other, level, partition_of(session, stage.partitions))
        for session, other in ((one, two), (two, one))
        for level in ("WARNING", "LOOP")
    }


def said(found: list[Stored]) -> list[tuple[str, str, str, int]]:
    values = [(value_of(each), each.partition) for each in found]
    return [(value["session_id"], value["chain_id"], value["level"], at) for value, at in values]


async def test_each_session_is_alerted_once_per_level_in_its_own_partition(stage: Stage) -> None:
    stage.worker()
    await stage.send(ping_pong(stage.partitions, range(1, 13)))
    await stage.processed()
    found = await alerts(stage)
    assert sorted(said(found)) == sorted(told(stage))
    assert {each.key.decode() for each in found if each.key} == set(
        handing_sessions(stage.partitions).values()
    )


async def test_agents_that_work_in_between_are_no_ping_pong(stage: Stage) -> None:
    stage.worker()
    await stage.send(ping_pong(stage.partitions, range(1, 13), works=True))
    await stage.processed()
    assert await alerts(stage) == []


@pytest.mark.parametrize("point", [CrashPoint.FOLDED, CrashPoint.OUTPUTS_ACKED, CrashPoint.STORED])
async def test_a_worker_killed_in_between_loses_no_alert_and_tells_none_otherwise(
    stage: Stage, point: CrashPoint
) -> None:
    first = stage.worker(crash_point=f"{AGGREGATES}.{point}:1", **SOON_MISSED)
    await stage.send(ping_pong(stage.partitions, range(1, 6)))
    assert await first.ended() == KILLED, first.tail()
    stage.worker(directory=first.directory / "data")
    await stage.send(ping_pong(stage.partitions, range(6, 13)))
    await stage.processed()
    found = await alerts(stage)
    assert set(said(found)) == told(stage)
    verdict = await stage.judged()
    assert not verdict.problems, "\n".join(verdict.problems)
