"""Damaged local state is set aside and restored: the worker goes on, and everything comes out right."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.worker.options import AGGREGATES, SESSIONS
from streams.worker.state.store import SET_ASIDE
from tests.damage import cut_manifest, forget_current, overwrite_tables
from tests.integration.load import load
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until

pytestmark = pytest.mark.integration

GUARANTEES = [
    "at_least_once",
    pytest.param("exactly_once", marks=pytest.mark.kafka_only("the embedded broker has no transactions")),
]
SAID = "It is set aside as"


async def set_aside(worker: WorkerProcess) -> int:
    return int(await worker.metric("eddy_state_set_aside_total"))


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize(("damage", "table"), [(forget_current, SESSIONS), (cut_manifest, AGGREGATES)])
async def test_what_is_damaged_while_the_worker_is_down_is_set_aside_with_the_next_start(
    stage: Stage, damage: Callable[[Path], str], table: str, guarantee: str
) -> None:
    records = load(stage.partitions)
    first = await stage.worker(processing_guarantee=guarantee).ready()
    await stage.send(itertools.islice(records, 400))
    await stage.processed()
    first.kill()
    data = first.directory / "data"
    state = data / stage.application_id
    damage(state / table / "1.db")

    second = await stage.worker(directory=data, processing_guarantee=guarantee).ready()
    await stage.send(itertools.islice(records, 400))
    await stage.processed()
    assert (await set_aside(second), second.log.count(SAID)) == (1, 1)
    assert [kept.name for kept in (state / SET_ASIDE).iterdir()] == [f"{table}-1.db"]
    second.terminate()
    assert await second.ended() == 0

    third = await stage.worker(directory=data, processing_guarantee=guarantee).ready()
    await stage.send(itertools.islice(records, 100))
    await stage.processed()
    assert (await set_aside(third), third.log.count(SAID)) == (0, 0)
    await stage.verdict()


@pytest.mark.parametrize("guarantee", GUARANTEES)
async def test_what_is_damaged_while_it_is_used_is_restored_without_a_restart(
    stage: Stage, guarantee: str
) -> None:
    # Housekeeping would read the files into memory, where nothing damages them.
    settings = {"processing_guarantee": guarantee, "housekeeping_interval_s": 0}
    records = load(stage.partitions)
    first = await stage.worker(**settings).ready()
    await stage.send(itertools.islice(records, 400))
    await stage.processed()
    first.terminate()
    assert await first.ended() == 0
    data = first.directory / "data"

    second = await stage.worker(directory=data, **settings).ready()
    for path in (data / stage.application_id / SESSIONS).glob("*.db"):
        overwrite_tables(path)
    await stage.send(itertools.islice(records, 400))

    async def noticed() -> bool:
        return await set_aside(second) > 0

    await until(noticed, PATIENCE_SECONDS, "a database that is set aside", second)
    await stage.processed()
    second.alive()
    verdict = await stage.verdict()
    if guarantee == "exactly_once":
        assert sum(verdict.repeated.values()) == 0


async def test_a_standby_that_is_damaged_is_set_aside_and_follows_again(stage: Stage) -> None:
    records = load(stage.partitions)
    first = await stage.worker(standby_replicas=1).ready()
    second = await stage.worker(standby_replicas=1).ready()
    await stage.send(itertools.islice(records, 400))
    await stage.processed()
    second.terminate()
    assert await second.ended() == 0
    data = second.directory / "data"
    damaged = sorted((data / stage.application_id / SESSIONS).glob("*.db"))
    for path in damaged:
        forget_current(path)
    third = await stage.worker(directory=data, standby_replicas=1).ready()

    async def all_set_aside() -> bool:
        return await set_aside(third) == len(damaged)

    await until(all_set_aside, PATIENCE_SECONDS, "all databases set aside", third)
    await stage.send(itertools.islice(records, 400))
    await stage.processed()
    first.alive()
    third.alive()
    await stage.verdict()
