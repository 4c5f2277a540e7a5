"""A broker that dies or hangs under load, and comes back."""

import itertools

import pytest

from tests.integration.apache_kafka import ApacheKafka
from tests.integration.load import load
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until

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
async def test_a_worker_waits_for_a_broker_that_hangs_and_continues_with_its_first_answer(
    stage_on_own_broker: Stage,
) -> None:
    stage = stage_on_own_broker
    broker = stage.broker
    assert isinstance(broker, ApacheKafka)
    # Two records at a time, so that much is left to do when the broker hangs.
    await stage.send(itertools.islice(load(stage.partitions), 6000))
    worker = stage.worker(run_max_records=2, producer_request_timeout_s=300, transaction_timeout_s=301)
    await worker.has_processed(100)
    broker.signal("STOP")

    async def unready() -> bool:
        status, body = await worker.get("/readyz")
        return status == 503 and "No broker answers since" in body

    await until(unready, PATIENCE_SECONDS, "a worker that says that no broker answers", worker)
    broker.signal("CONT")
    await stage.processed()
    await stage.verdict()
    assert "The broker answers again after" in worker.log
