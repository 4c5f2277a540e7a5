"""A transaction of a stranger that stays open: the worker names it, and goes on with its other partitions."""

import itertools

import pytest
from aiokafka import AIOKafkaProducer

from streams.core.domain.topic import Topic
from tests.integration.load import decision, keyed
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.kafka_only("the embedded broker has no transactions"),
]

STALL_S = 8


async def test_an_open_transaction_of_others_holds_its_partition_alone_and_is_named(stage: Stage) -> None:
    worker = stage.worker(stall_timeout_s=STALL_S)
    await worker.ready()
    records = [keyed(decision(f"s-{number}", 0), stage.partitions) for number in range(40)]
    held = [record for partition, record in records if partition == 0]
    stranger = AIOKafkaProducer(
        bootstrap_servers=stage.broker.bootstrap,
        transactional_id="a-stranger",
        transaction_timeout_ms=600_000,
    )
    await stranger.start()
    try:
        await stranger.begin_transaction()
        await stranger.send_and_wait(Topic.DECISION_LOGS, held[0].value, partition=0, key=held[0].key)
        await stage.send(records)
        others = sum(partition != 0 for partition, _ in records)
        await worker.has_processed(others)
        named = "decision-logs[0] waits for the producer with the transactional id a-stranger, since offset "
        await until(lambda: named in worker.log, PATIENCE_SECONDS, "its name", worker)
        # At the second line a worker that took this for a stall would have ended: after twice eight seconds.
        await until(lambda: worker.log.count(named) > 1, PATIENCE_SECONDS, "its name again", worker)
        assert worker.running()
        more = [keyed(decision(f"s-{number}", 1), stage.partitions) for number in range(40)]
        await stage.send(itertools.filterfalse(lambda each: each[0] == 0, more))
        await worker.has_processed(2 * others)
        await stranger.abort_transaction()
    finally:
        await stranger.stop()
    await worker.has_processed(2 * others + len(held))
    await until(lambda: "for a transaction; it is over." in worker.log, PATIENCE_SECONDS, "its end", worker)
