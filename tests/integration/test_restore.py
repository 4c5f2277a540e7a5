"""State comes back from the changelog: all of it, or only what the disk does not have."""

import itertools

import pytest

from streams.worker.options import AGGREGATES, SESSIONS, changelog_topic
from streams.worker.state.store import PartitionStores, StoreOptions
from tests.integration.load import load
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.worker_process import WorkerProcess

pytestmark = pytest.mark.integration


TABLES = (SESSIONS, AGGREGATES)


async def live(stage: Stage, worker: WorkerProcess, start: int, stop: int, end: str = "TERM") -> list[int]:
    """Let a worker process some of the load and end; return how many records it had restored, by table."""
    await worker.ready()
    restored = [int(await worker.metric("eddy_restored_records_total", table=table)) for table in TABLES]
    await stage.send(itertools.islice(load(stage.partitions), start, stop))
    await stage.processed()
    if end == "KILL":
        worker.kill()
        return restored
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()
    return restored


async def test_a_new_disk_restores_everything_and_an_intact_one_only_the_rest(stage: Stage) -> None:
    changelogs = [changelog_topic(stage.application_id, table) for table in TABLES]

    async def written() -> list[int]:
        return [len(await stage.read(changelog)) for changelog in changelogs]

    first = stage.worker()
    assert await live(stage, first, 0, 800) == [0, 0]
    written_first = await written()
    assert await live(stage, stage.worker(), 800, 1200) == written_first
    written_then = [now - before for now, before in zip(await written(), written_first, strict=True)]
    assert min(written_then) > 0
    data = first.directory / "data"
    assert await live(stage, stage.worker(directory=data), 1200, 1600) == written_then
    verdict = await stage.verdict()
    assert sum(verdict.repeated.values()) == 0

    # What is on the disk is what is in the changelog.
    for table, changelog in zip(TABLES, changelogs, strict=True):
        latest = {(stored.partition, stored.key): stored for stored in await stage.read(changelog)}
        stores = PartitionStores(data / stage.application_id / table, StoreOptions())
        for partition in {partition for partition, _ in latest}:
            mine = {key: stored for (owner, key), stored in latest.items() if owner == partition}
            kept = {key: stored.value for key, stored in mine.items() if stored.value is not None}
            assert dict(stores[partition].items()) == kept
            assert stores[partition].offset() == max(stored.offset for stored in mine.values())
        stores.close_all()


@pytest.mark.parametrize("end", ["TERM", "KILL"])
async def test_a_worker_that_comes_back_to_its_disk_reads_nothing_again(stage: Stage, end: str) -> None:
    # All is written with its run, so that only what is restored is read.
    first = stage.worker(checkpoint_s=0, **SOON_MISSED)
    await live(stage, first, 0, 600, end)
    assert min([len(await stage.read(changelog_topic(stage.application_id, table))) for table in TABLES]) > 0
    second = stage.worker(directory=first.directory / "data", checkpoint_s=0)
    assert await live(stage, second, 600, 900, end) == [0, 0]
    await stage.verdict()
