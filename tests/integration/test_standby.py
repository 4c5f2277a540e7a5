"""A standby has the state of what it takes over, but for the last second."""

import itertools
import time

import pytest

from tests.integration.load import load
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until

pytestmark = pytest.mark.integration


async def shares(worker: WorkerProcess) -> tuple[int, int]:
    """Return how many partitions of sessions a worker processes, and of how many it stands by."""
    _, metrics = await worker.get("/metrics")
    lines = metrics.splitlines()
    return (
        sum(line.startswith("eddy_consumer_lag{") and 'topic="decision-logs"' in line for line in lines),
        sum(line.startswith("eddy_standby_lag_seconds{") and 'table="sessions"' in line for line in lines),
    )


async def share(worker: WorkerProcess, active: int, standby: int) -> None:
    async def shared() -> bool:
        return (await shares(worker)) == (active, standby) and (await worker.get("/readyz"))[0] == 200

    await until(shared, PATIENCE_SECONDS, f"{active} partitions and {standby} standbys", worker)


async def restored(worker: WorkerProcess) -> int:
    return int(await worker.metric("eddy_restored_records_total"))


async def up_to_date(worker: WorkerProcess) -> None:
    """Wait until the standbys of a worker have read all that is in the changelogs now."""
    now = time.monotonic()

    async def read() -> bool:
        asked = time.monotonic()
        _, metrics = await worker.get("/metrics")
        lags = [
            float(line.rpartition(" ")[2])
            for line in metrics.splitlines()
            if line.startswith("eddy_standby_lag_seconds{")
        ]
        return bool(lags) and asked - max(lags) > now

    await until(read, PATIENCE_SECONDS, "standbys that are up to date", worker)


async def test_one_worker_has_nobody_to_stand_by(stage: Stage) -> None:
    await stage.send(itertools.islice(load(stage.partitions), 200))
    worker = stage.worker(standby_replicas=1)
    await share(worker, 4, 0)
    await stage.processed()
    await stage.verdict()


async def test_a_standby_takes_over_what_was_killed_and_restores_the_tail_alone(stage: Stage) -> None:
    records = load(stage.partitions)
    await stage.send(itertools.islice(records, 200))
    first = stage.worker(standby_replicas=1, **SOON_MISSED)
    await share(first, 4, 0)
    second = stage.worker(standby_replicas=1)
    await share(first, 2, 2)
    await share(second, 2, 2)
    await stage.send(itertools.islice(records, 1200))
    await stage.processed()
    await up_to_date(second)
    before = await restored(second)
    assert await second.metric("eddy_standby_records_total") > 100
    first.kill()
    await share(second, 4, 0)
    # The changelogs of the partitions that moved hold hundreds of records; none of them is read again.
    assert await restored(second) - before == 0
    await stage.send(itertools.islice(records, 400))
    await stage.processed()
    third = stage.worker(standby_replicas=1, directory=first.directory / "data")
    await share(third, 2, 2)
    await share(second, 2, 2)
    await stage.send(itertools.islice(records, 400))
    await stage.processed()
    verdict = await stage.verdict()
    assert sum(verdict.repeated.values()) == 0
