"""With transactions every output is there once for whoever reads committed records, whatever happens."""

import itertools

import pytest

from streams.cli.command_group import WRONG_INPUT
from streams.core.domain.topic import Topic
from tests.integration.load import load
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.test_restore import live
from tests.integration.test_takeover import share
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = pytest.mark.integration
kafka_only = pytest.mark.kafka_only("the embedded broker has no transactions")

ONCE = {"processing_guarantee": "exactly_once"}


async def nothing_twice(stage: Stage) -> None:
    """Wait until all is processed, and compare all that came out."""
    await stage.processed()
    verdict = await stage.verdict()
    assert sum(verdict.repeated.values()) == 0, verdict.repeated


@kafka_only
async def test_workers_that_are_killed_join_and_leave_under_load(stage: Stage) -> None:
    staying, killed = stage.worker(**ONCE), stage.worker(**ONCE, **SOON_MISSED)
    async with stage.pouring(load(stage.partitions)):
        await share(staying, 2)
        await share(killed, 2)
        await killed.has_processed(200)
        killed.kill()
        await share(staying, 4)
        joining = stage.worker(directory=killed.directory / "data", **ONCE)
        await share(joining, 2)
        await joining.has_processed(100)
        joining.terminate()
        assert await joining.ended() == 0, joining.tail()
        await share(staying, 4)
    await nothing_twice(stage)


@kafka_only
async def test_a_worker_that_was_taken_for_dead_is_fenced_and_goes_on(stage: Stage) -> None:
    # It stands still in the middle of a transaction, with all of it on the brokers.
    suspended = stage.worker(**ONCE, **SOON_MISSED, crash_point="transaction_acked:9:stop")
    async with stage.pouring(load(stage.partitions)):
        await suspended.stands_still()
        other = stage.worker(**ONCE)
        await share(other, 4)
        await other.has_processed(400)
        suspended.signal("CONT")

        async def fenced() -> bool:
            return "is fenced" in suspended.log

        await until(fenced, PATIENCE_SECONDS, "a producer that is fenced", suspended)
        await share(suspended, 2)
        await suspended.has_processed(400)
    await nothing_twice(stage)
    assert suspended.running()
    assert await stage.aborted(Topic.ENRICHED) > 0


@kafka_only
async def test_a_worker_that_comes_back_to_its_disk_reads_nothing_again(stage: Stage) -> None:
    first = stage.worker(**ONCE)
    await live(stage, first, 0, 600)
    second = stage.worker(directory=first.directory / "data", **ONCE)
    assert await live(stage, second, 600, 900) == [0, 0]
    await nothing_twice(stage)


@kafka_only
async def test_an_idle_worker_has_no_lag_behind_the_markers_of_its_transactions(stage: Stage) -> None:
    worker = await stage.worker(**ONCE).ready()
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await stage.processed()

    async def idle() -> bool:
        return await worker.metric("eddy_consumer_lag") == 0

    await until(idle, PATIENCE_SECONDS, "a lag of nothing", worker)


@kafka_only
async def test_the_guarantee_changes_on_a_running_deployment_in_both_directions(stage: Stage) -> None:
    records = load(stage.partitions)
    first = await stage.worker().ready()
    data = first.directory / "data"
    before = first
    async with stage.pouring(records, at_once=10):
        for settings in (ONCE, {}, ONCE):
            # Both kinds are in the group for a while, as in a rolling restart.
            joining = stage.worker(**settings)
            await share(joining, 2)
            await joining.has_processed(100)
            before.terminate()
            assert await before.ended() == 0, before.tail()
            await share(joining, 4)
            before = joining
    before.terminate()
    assert await before.ended() == 0, before.tail()
    # On the state that the first has left.
    stage.worker(directory=data, **ONCE)
    await stage.send(itertools.islice(records, 100))
    await nothing_twice(stage)


async def test_a_broker_without_transactions_is_refused(stage: Stage) -> None:
    if stage.broker.kind == "kafka":
        refused = stage.worker(**ONCE, transaction_timeout_s=3600, producer_request_timeout_s=30)
        said = "transaction.max.timeout.ms"
    else:
        refused = stage.worker(**ONCE)
        said = "at_least_once"
    assert await refused.ended() == WRONG_INPUT, refused.tail()
    last = refused.log.splitlines()[-1]
    assert last.startswith("eddy: ")
    assert said in last
    assert "Traceback" not in refused.log
