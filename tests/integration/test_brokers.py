"""What every other integration test takes for granted of either broker."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.integration.apache_kafka import ApacheKafka
from tests.integration.brokers import Broker
from tests.integration.worker_process import PATIENCE_SECONDS

Unique = Callable[[str], str]

pytestmark = pytest.mark.integration


async def create_topic(broker: Broker, topic: str, partitions: int) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, partitions, 1)])
    finally:
        await admin.close()


async def produce(broker: Broker, topic: str, partition: int, values: list[bytes]) -> list[int]:
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        sent = [
            await producer.send(
                topic, value, key=b"k", partition=partition, timestamp_ms=1000, headers=[("h", b"v")]
            )
            for value in values
        ]
        return [(await acknowledged).offset for acknowledged in sent]


async def read(broker: Broker, topic: str, partition: int, count: int) -> list[bytes]:
    """Return the first `count` values."""
    async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, partition)])
        async with asyncio.timeout(PATIENCE_SECONDS):
            records = [await consumer.getone() for _ in range(count)]
        return [record.value for record in records if record.value is not None]


async def test_what_is_produced_is_consumed_in_order(broker: Broker, unique: Unique) -> None:
    topic = unique("records")
    await create_topic(broker, topic, partitions=2)
    values = [str(n).encode() for n in range(100)]
    assert await produce(broker, topic, 1, values) == list(range(100))
    assert await read(broker, topic, 1, len(values)) == values


@pytest.mark.kafka_only("the embedded broker answers with the first offset of the last batch, plus one")
async def test_the_end_of_a_partition_is_after_its_last_record(broker: Broker, unique: Unique) -> None:
    topic = unique("records")
    await create_topic(broker, topic, partitions=1)
    await produce(broker, topic, 0, [b"one", b"two", b"three"])
    where = TopicPartition(topic, 0)
    async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap) as consumer:
        assert await consumer.end_offsets([where]) == {where: 3}


async def test_a_record_keeps_key_headers_and_time(broker: Broker, unique: Unique) -> None:
    topic = unique("records")
    await create_topic(broker, topic, partitions=1)
    await produce(broker, topic, 0, [b"value"])
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        record = await asyncio.wait_for(consumer.getone(), PATIENCE_SECONDS)
    assert (record.key, record.value, record.timestamp, record.headers) == (
        b"k",
        b"value",
        1000,
        (("h", b"v"),),
    )


class Holding(ConsumerRebalanceListener):
    """What one member of a group holds, and a way to wait until it holds so many partitions."""

    def __init__(self) -> None:
        self.partitions: set[int] = set()
        self._changed = asyncio.Condition()

    async def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        await self._become(set())

    async def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        await self._become({each.partition for each in assigned})

    async def count(self, wanted: int) -> None:
        async with self._changed:
            as_wanted = self._changed.wait_for(lambda: len(self.partitions) == wanted)
            await asyncio.wait_for(as_wanted, PATIENCE_SECONDS)

    async def _become(self, partitions: set[int]) -> None:
        async with self._changed:
            self.partitions = partitions
            self._changed.notify_all()


@asynccontextmanager
async def member(broker: Broker, topic: str, group: str) -> AsyncIterator[tuple[AIOKafkaConsumer, Holding]]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=30_000,
        heartbeat_interval_ms=200,
    )
    holding = Holding()
    consumer.subscribe([topic], listener=holding)
    await consumer.start()
    try:
        yield consumer, holding
    finally:
        await consumer.stop()


async def test_a_group_of_two_shares_and_the_one_left_goes_on_where_the_other_committed(
    broker: Broker, unique: Unique
) -> None:
    topic, group = unique("records"), unique("group")
    await create_topic(broker, topic, partitions=4)
    for partition in range(4):
        await produce(broker, topic, partition, [b"old"])
    async with member(broker, topic, group) as (staying, stays):
        await stays.count(4)
        async with member(broker, topic, group) as (leaving, leaves):
            await leaves.count(2)
            await stays.count(2)
            assert stays.partitions | leaves.partitions == {0, 1, 2, 3}
            handed_over = leaves.partitions
            await leaving.commit({TopicPartition(topic, partition): 1 for partition in handed_over})
        await stays.count(4)
        for partition in range(4):
            await produce(broker, topic, partition, [b"new"])
        read: dict[int, list[bytes]] = {partition: [] for partition in range(4)}
        async with asyncio.timeout(PATIENCE_SECONDS):
            while any(b"new" not in values for values in read.values()):
                record = await staying.getone()
                assert record.value is not None
                read[record.partition].append(record.value)
    assert {partition for partition, values in read.items() if values == [b"new"]} == handed_over


@pytest.mark.kafka_only("the embedded broker keeps nothing on disk")
@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_apache_kafka_comes_back_with_its_records_on_its_port(
    own_broker: ApacheKafka, unique: Unique, end: str
) -> None:
    topic = unique("records")
    await create_topic(own_broker, topic, partitions=1)
    await produce(own_broker, topic, 0, [b"before"])
    address = own_broker.bootstrap
    getattr(own_broker, end)()
    own_broker.start()
    assert own_broker.bootstrap == address
    await produce(own_broker, topic, 0, [b"after"])
    assert await read(own_broker, topic, 0, 2) == [b"before", b"after"]
