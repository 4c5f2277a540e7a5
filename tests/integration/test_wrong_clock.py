"""A worker whose machine has the wrong time works as others do, and state goes by the brokers' time."""

import itertools
import time
from pathlib import Path

import pytest

from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.kafka.topic_identity import job_topics
from streams.worker.options import AGGREGATES, changelog_topic
from streams.worker.state.changelog import session_id_of
from tests.integration.load import load
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until
from tests.wall_clock import WallClock
from topics.plan import AlterConfig

pytestmark = [
    pytest.mark.integration,
    pytest.mark.kafka_only("the embedded broker refuses no timestamp and tells no time"),
]

DAY_S = 86_400
#: By which a test may be slower than it thinks.
MARGIN_S = 600


@pytest.fixture(params=[DAY_S, -DAY_S], ids=["ahead", "behind"])
def shift_s(request: pytest.FixtureRequest) -> int:
    shift: int = request.param
    return shift


@pytest.fixture
def clock(tmp_path: Path, shift_s: int) -> WallClock:
    """Return a clock that is a day wrong."""
    clock = WallClock(tmp_path / "clock")
    clock.set_off(shift_s)
    return clock


async def written_s(stage: Stage) -> list[float]:
    """Return when the states in the changelog were written, as it says, seconds since 1970."""
    found = await stage.read(changelog_topic(stage.application_id))
    return [stored.timestamp / 1000 for stored in found if session_id_of(stored.key or b"") is not None]


async def processes(stage: Stage, worker: WorkerProcess) -> None:
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await worker.ready()
    await stage.processed()
    await stage.written()


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
async def test_state_has_the_brokers_time(
    stage: Stage, clock: WallClock, shift_s: int, guarantee: str
) -> None:
    worker = stage.worker(clock=clock, processing_guarantee=guarantee)
    before = time.time()
    await processes(stage, worker)
    times = await written_s(stage)
    assert before - MARGIN_S < min(times) <= max(times) < time.time() + MARGIN_S
    ahead = await worker.metric("eddy_clock_ahead_seconds")
    assert ahead == pytest.approx(shift_s, abs=MARGIN_S)
    assert "The clock of this machine is" in worker.log
    await stage.verdict()


async def test_a_worker_that_has_nothing_to_do_asks_for_the_time(
    stage: Stage, clock: WallClock, shift_s: int
) -> None:
    worker = await stage.worker(clock=clock, housekeeping_interval_s=0.1).ready()

    async def has_heard() -> bool:
        return abs(await worker.metric("eddy_clock_ahead_seconds") - shift_s) < MARGIN_S

    await until(has_heard, PATIENCE_SECONDS, "the brokers' time", worker)
    assert await written_s(stage) == []


async def test_on_changelogs_that_go_by_the_time_of_records_it_works_as_well(
    stage: Stage, clock: WallClock, shift_s: int
) -> None:
    catalogue = job_topics(stage.application_id, partitions=stage.partitions, replicas=1)
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        for table in ("sessions", AGGREGATES):
            topic = catalogue[changelog_topic(stage.application_id, table)]
            config = {
                **topic.config,
                "message.timestamp.type": "CreateTime",
                # Neither its own time nor any that is far from the brokers' is taken.
                "message.timestamp.before.max.ms": "3600000",
                "message.timestamp.after.max.ms": "3600000",
            }
            entries = tuple((name, None, value) for name, value in sorted(config.items()))
            await brokers.apply([AlterConfig(topic.name, entries)])
    await processes(stage, stage.worker(clock=clock, housekeeping_interval_s=0.1))
    await stage.verdict()
    times = await written_s(stage)
    # The broker refuses what is a day off; such a record has no time then.
    assert all(each < 0 or abs(each - time.time()) < MARGIN_S for each in times)
    heir = await stage.worker(housekeeping_interval_s=0.1).ready()
    assert await heir.metric("eddy_sessions_removed_total") == 0
