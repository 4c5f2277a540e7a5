"""A broker that dies or hangs under load, and comes back."""

import itertools

import pytest

from streams.engine.health import EXIT_STALLED
from tests.integration.apache_kafka import ApacheKafka
from tests.integration.load import load
from tests.integration.stage import SOON_MISSED, Stage

pytestmark = pytest.mark.integration


@pytest.mark.kafka_only("the embedded broker keeps nothing on disk")
async def test_a_broker_killed_under_load_costs_nothing_but_time(stage_on_own_broker: Stage) -> None:
    stage = stage_on_own_broker
    broker = stage.broker
    assert isinstance(broker, ApacheKafka)
    # Apache Kafka may take its time to come back.
    worker = await stage.worker(producer_request_timeout_s=300, transaction_timeout_s=301).ready()
    async with stage.pouring(load(stage.partitions)):
        await worker.has_processed(500)
        broker.kill()
        broker.start()
        await worker.has_processed(1000)
    await stage.processed()
    await stage.verdict()


@pytest.mark.kafka_only("the embedded broker takes no signals")
async def test_a_worker_that_stands_still_ends_itself_and_its_successor_goes_on(
    stage_on_own_broker: Stage,
) -> None:
    stage = stage_on_own_broker
    broker = stage.broker
    assert isinstance(broker, ApacheKafka)
    # Two records at a time, so that much is left to do when the broker hangs.
    await stage.send(itertools.islice(load(stage.partitions), 6000))
    worker = stage.worker(run_max_records=2, stall_timeout_s=10, **SOON_MISSED)
    await worker.has_processed(100)
    broker.signal("STOP")
    assert await worker.ended() == EXIT_STALLED, worker.tail()
    assert "no progress" in worker.log
    broker.signal("CONT")
    stage.worker(directory=worker.directory / "data")
    await stage.processed()
    await stage.verdict()
