"""Parts of the engine against a broker: what a fetch gives back, where a batch ended up, what is restored."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from streams.app import build
from streams.domain.outgoing import Outgoing
from streams.engine.app import RunApp
from streams.engine.producer import RunProducer
from streams.engine.recovery import restore
from streams.engine.store import PartitionStores, StoreOptions
from streams.engine.transport import RunConsumer
from streams.errors import StateError
from streams.settings import WorkerSettings
from tests.integration.brokers import Broker

pytestmark = pytest.mark.integration

Unique = Callable[[str], str]
Topic = str


@pytest.fixture
async def topic(broker: Broker, unique: Unique) -> Topic:
    """Return a topic of two partitions."""
    name = unique("records")
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 2, 1)])
    finally:
        await admin.close()
    return name


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[PartitionStores]:
    stores = PartitionStores(tmp_path / "stores", StoreOptions())
    yield stores
    stores.close_all()


@asynccontextmanager
async def app(broker: Broker, directory: Path, **settings: object) -> AsyncIterator[RunApp]:
    """Build a worker's app without starting it."""
    app = build(
        WorkerSettings(
            _env_file=None,
            data_dir=directory,
            bootstrap_servers=broker.bootstrap,
            producer_idempotence=broker.kind == "kafka",
            **settings,
        )
    )
    try:
        yield app
    finally:
        if app._consumer is not None:
            cast("RunConsumer", app._consumer)._thread.thread_loop.close()


@asynccontextmanager
async def reader(broker: Broker) -> AsyncIterator[AIOKafkaConsumer]:
    async with AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=50,
    ) as consumer:
        yield consumer


async def write(broker: Broker, topic: Topic, partition: int, *records: tuple[bytes, bytes | None]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        sent = [await producer.send(topic, value, key, partition) for key, value in records]
        for future in sent:
            await future


async def test_what_is_fetched_while_nothing_is_delivered_is_fetched_again(
    broker: Broker, topic: Topic, tmp_path: Path
) -> None:
    await write(broker, topic, 0, *[(b"k", b"%d" % number) for number in range(10)])
    partition = TopicPartition(topic, 0)
    async with app(broker, tmp_path) as built, reader(broker) as consumer:
        consumer.assign([partition])
        ours = cast("RunConsumer", built.consumer)
        # A fetch is under way when the partitions are revoked: it finds the flow active when it begins.
        ours.resume_flow()
        original = consumer._fetcher.fetched_records

        async def fetched_records(*args: object, **kwargs: object) -> object:
            found = await original(*args, **kwargs)
            ours.stop_flow()
            return found

        consumer._fetcher.fetched_records = fetched_records
        assert await ours._thread._fetch_records(consumer, {partition}, timeout=10) == {}
        consumer._fetcher.fetched_records = original
        ours.resume_flow()
        fetched = await ours._thread._fetch_records(consumer, {partition}, timeout=10)
        assert fetched[partition][0].offset == 0


async def test_batches_tell_the_offset_of_their_last_record(
    broker: Broker, topic: Topic, tmp_path: Path
) -> None:
    async with app(broker, tmp_path, producer_max_batch_bytes=16_384, producer_compression="none") as built:
        producer = cast("RunProducer", built.producer)
        await producer.start()
        try:
            records = [Outgoing(b"k", b"%04d" % number + b"x" * 500, 1000 + number) for number in range(200)]
            first = await producer.publish(topic, 1, records)
            second = await producer.publish(topic, 1, records[:3])
            assert len(first.futures) > 3
            assert (await first.acknowledged(), await second.acknowledged()) == (199, 202)
            assert await producer.partition_count(topic) == 2
        finally:
            await producer.stop()
    async with reader(broker) as consumer:
        consumer.assign([TopicPartition(topic, 1)])
        found = [await consumer.getone() for _ in range(203)]
    assert [record.value[:4] for record in found] == [record.value[:4] for record in [*records, *records[:3]]]
    assert [record.timestamp for record in found[:200]] == [record.timestamp for record in records]


async def test_a_restore_brings_databases_to_the_end_and_reads_no_more_than_it_must(
    broker: Broker, topic: Topic, stores: PartitionStores, tmp_path: Path
) -> None:
    await write(broker, topic, 0, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"b", None))
    told: list[int] = []
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        assert await restore(consumer, topic, [0, 1], stores, progress=told.append) == 4
    assert dict(stores[0].items()) == {b"a": b"2"}
    assert (stores[0].offset(), stores[1].offset()) == (3, None)
    assert told[-1] == 4

    await write(broker, topic, 0, (b"c", b"1"))
    await write(broker, topic, 1, (b"d", b"1"))
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        assert await restore(consumer, topic, [0, 1], stores) == 2
    assert dict(stores[0].items()) == {b"a": b"2", b"c": b"1"}
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        assert await restore(consumer, topic, [0, 1], stores) == 0
        assert await restore(consumer, topic, [], stores) == 0


@pytest.mark.parametrize("ahead", [1, 1000])
async def test_state_of_another_cluster_is_refused(
    broker: Broker, topic: Topic, stores: PartitionStores, tmp_path: Path, ahead: int
) -> None:
    await write(broker, topic, 0, (b"a", b"1"), (b"b", b"1"))
    stores[0].write([(b"a", b"other")], 1 + ahead)
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        with pytest.raises(StateError, match="another cluster"):
            await restore(consumer, topic, [0], stores)
    assert stores[0].get(b"a") == b"other"
