"""Settings that change while records flow: each offset has its settings for ever, whoever processes it."""

import itertools
from collections.abc import Iterator

import orjson
import pytest

from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from tests.integration.load import HOUR_MS, Sending, decision, keyed, load
from tests.integration.reference_fold import value_of
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until

pytestmark = pytest.mark.integration


def ahead_of_time(partitions: int) -> Iterator[Sending]:
    """Yield records that are dead letters unless `max_future_ms` is 0, each of a session of its own."""
    for number in itertools.count():
        value = decision(f"ahead-{number}", number)
        partition, record = keyed(value, partitions)
        yield partition, record._replace(timestamp=record.timestamp - 2 * HOUR_MS)


def mixed(partitions: int) -> Iterator[Sending]:
    """Yield the usual load with every fifth record ahead of time."""
    usual = load(partitions)
    for ahead in ahead_of_time(partitions):
        yield from itertools.islice(usual, 4)
        yield ahead


async def adopted(version: int, *workers: WorkerProcess, partitions: int) -> None:
    """Wait until every partition is processed under a version."""

    async def all_adopted() -> bool:
        under = 0
        for worker in workers:
            _, metrics = await worker.get("/metrics")
            under += sum(
                line.startswith("eddy_settings_version{") and float(line.rsplit(" ", 1)[1]) == version
                for line in metrics.splitlines()
            )
        return under >= partitions

    await until(all_adopted, PATIENCE_SECONDS, f"settings version {version} everywhere", *workers)


async def test_a_change_under_load_has_one_boundary_per_partition_that_a_replay_keeps(stage: Stage) -> None:
    # Without commits everything is processed again after the kill.
    first = stage.worker(commit_interval_s=600, **SOON_MISSED)
    async with stage.pouring(mixed(stage.partitions)):
        await first.has_processed(500)
        await stage.command("config", "set", "max_future_ms=0", "entropy_window_size=3")
        await adopted(1, first, partitions=stage.partitions)
        before = await first.metric("eddy_decisions_total")
        await first.has_processed(int(before) + 300)
        await stage.publish_settings(max_future_ms=HOUR_MS)
        await adopted(2, first, partitions=stage.partitions)
        first.kill()
    second = stage.worker()
    await stage.processed()
    assert await second.metric("eddy_decisions_total", result="duplicate") > 500, (
        "not much was processed again"
    )
    await stage.verdict()
    for versions in (await stage.versions_by_offset()).values():
        assert versions == sorted(versions)
        assert set(versions) == {0, 1, 2}


BAD_DOCUMENTS = [
    b"\xff\xfe",
    b"[]",
    b'{"entropy_window_size": 9}',
    b'{"version": "4", "entropy_window_size": 9}',
    b'{"version": true, "entropy_window_size": 9}',
    b'{"version": 1, "entropy_window_size": 9}',
    None,
]
PARTLY_GOOD = {
    "version": 7,
    "entropy_window_size": 0,
    "entropy_loop_threshold": 0.9,
    "entropy_warning_threshold": 0.1,
    "no_such_setting": 1,
    "alert_every_record": False,
}


async def test_bad_documents_stop_nobody_and_a_new_worker_has_the_settings_of_a_running_one(
    stage: Stage,
) -> None:
    running = await stage.worker().ready()
    await stage.publish_settings(entropy_window_size=4)
    documents = [*BAD_DOCUMENTS, orjson.dumps(PARTLY_GOOD)]
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        await brokers.write(
            Topic.DETECTOR_CONFIG, [(0, Outgoing(b"settings", document, 0)) for document in documents]
        )
    await until(
        lambda: "Settings version 7 is in force" in running.log, PATIENCE_SECONDS, "version 7", running
    )
    await stage.send(itertools.islice(load(stage.partitions), 400))
    await stage.processed()
    started_later = stage.worker()
    await until(
        lambda: "Settings version 7 is in force" in started_later.log,
        PATIENCE_SECONDS,
        "version 7",
        started_later,
    )
    await started_later.ready()
    await stage.send(itertools.islice(load(stage.partitions), 400, 800))
    await started_later.has_processed(1)
    await stage.processed()
    await stage.verdict()
    assert {version for versions in (await stage.versions_by_offset()).values() for version in versions} == {
        7
    }
    # What was bad kept its value, the rest was taken, and the tool says the same as the workers do.
    in_force = orjson.loads(await stage.command("config", "list", "--json"))
    assert {name: in_force[name] for name in PARTLY_GOOD if name in in_force} == {
        "version": 7,
        "entropy_window_size": 4,
        "entropy_loop_threshold": 0.25,
        "entropy_warning_threshold": 0.5,
        "alert_every_record": False,
    }
    windows = {
        eddy["uniqueness"]["window_size"]
        for stored in await stage.read(Topic.ENRICHED)
        if (eddy := value_of(stored)["eddy"])["uniqueness"] is not None
    }
    assert max(windows) == 4
