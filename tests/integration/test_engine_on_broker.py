"""Parts of the engine against a broker: what a fetch gives back, where a batch ended up, what is restored."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError

from streams.core.domain.record import Outgoing
from streams.core.errors import InfrastructureError, StateError
from streams.kafka.clock import now_ms
from streams.observe.settings import WorkerSettings
from streams.worker.app import RunApp
from streams.worker.delivery.producer import RunProducer
from streams.worker.faust.consumer_thread import RunConsumerThread, check_client, seek_to_committed
from streams.worker.faust.transport import RunConsumer
from streams.worker.state.changelog import SESSION_FORMAT
from streams.worker.state.restore import restore
from streams.worker.state.store import PartitionStores, StoreOptions
from streams.worker.wiring import build
from tests.integration.brokers import Broker
from tests.integration.worker_process import PATIENCE_SECONDS, until

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
    """Build a worker's app without starting it; it may publish as if its group had just heard of it."""
    app = build(
        WorkerSettings(
            _env_file=None,
            data_dir=directory,
            bootstrap_servers=broker.bootstrap,
            producer_idempotence=broker.kind == "kafka",
            **settings,
        )
    )
    app.lease.heard(app.lease.now() + PATIENCE_SECONDS)
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
        assert await ours._thread._fetch_records(consumer, {partition}, timeout=PATIENCE_SECONDS) == {}
        consumer._fetcher.fetched_records = original
        ours.resume_flow()
        fetched = await ours._thread._fetch_records(consumer, {partition}, timeout=PATIENCE_SECONDS)
        assert fetched[partition][0].offset == 0


async def test_what_was_fetched_before_another_assignment_is_not_delivered_under_it(
    broker: Broker, topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(broker, topic, 0, *[(b"k", b"%d" % number) for number in range(10)])
    partition, committed = TopicPartition(topic, 0), 2
    async with app(broker, tmp_path) as built, reader(broker) as consumer:
        consumer.assign([partition])
        ours = cast("RunConsumer", built.consumer)
        thread = cast("RunConsumerThread", ours._thread)
        ours.resume_flow()
        original = consumer.beginning_offsets

        async def rebalanced(tps: list[TopicPartition]) -> object:
            # While the broker is asked what was lost, the group gives the partitions out anew.
            consumer.assign([partition])
            consumer.seek(partition, committed)
            return await original(tps)

        monkeypatch.setattr(consumer, "beginning_offsets", rebalanced)
        thread._out_of_range[partition] = 0
        assert await thread._fetch_records(consumer, {partition}, timeout=PATIENCE_SECONDS) == {}
        fetched = await thread._fetch_records(consumer, {partition}, timeout=PATIENCE_SECONDS)
        assert fetched[partition][0].offset == committed


async def test_a_client_that_has_not_found_its_first_broker_has_no_error_to_look_at(broker: Broker) -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap)
    check_client(consumer)
    await consumer.stop()


async def test_the_committed_offsets_of_all_partitions_are_one_question(
    broker: Broker, topic: Topic, unique: Unique, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(broker, topic, 1, *[(b"k", b"%d" % number) for number in range(5)])
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=broker.bootstrap, group_id=unique("group"), enable_auto_commit=False
    ) as consumer:
        tps = [TopicPartition(topic, partition) for partition in range(2)]
        await consumer.commit({tps[1]: 4})
        asked: list[set[TopicPartition]] = []
        ask = consumer._coordinator.fetch_committed_offsets

        async def note(partitions: Iterable[TopicPartition]) -> object:
            asked.append(set(partitions))
            return await ask(partitions)

        monkeypatch.setattr(consumer._coordinator, "fetch_committed_offsets", note)
        assert await seek_to_committed(consumer) == {tps[0]: None, tps[1]: 4}
        assert set(tps) in asked
        assert {tps[0]} not in asked
        assert await consumer.position(tps[1]) == 4


async def test_what_ended_the_fetches_of_the_client_is_told(
    broker: Broker, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> bool:
        raise ValueError("nobody thought of it")

    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap)
    await consumer.start()
    try:
        check_client(consumer)
        fetcher = consumer._fetcher
        monkeypatch.setattr(fetcher, "_proc_fetch_request", fails)
        consumer.assign([TopicPartition(topic, 0)])
        await until(fetcher._fetch_task.done, PATIENCE_SECONDS, "the end of the fetches")
        # Who polls as Faust does is told nothing.
        assert await fetcher.fetched_records([], timeout=0.01) == {}
        with pytest.raises(InfrastructureError, match="The consumer cannot go on"):
            check_client(consumer)
    finally:
        with suppress(KafkaError):  # it is told once more
            await consumer.stop()
        await consumer._client.close()


async def test_what_keeps_the_client_out_of_its_group_is_told(
    broker: Broker, topic: Topic, unique: Unique, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object) -> None:
        raise GroupAuthorizationFailedError("eddy")

    monkeypatch.setattr(GroupCoordinator, "ensure_coordinator_known", refused)
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=broker.bootstrap, group_id=unique("group"))
    with suppress(GroupAuthorizationFailedError):
        await consumer.start()
    with pytest.raises(InfrastructureError, match="may Read its group"):
        check_client(consumer)
    await consumer.stop()
    check_client(consumer)


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


async def test_what_many_publish_to_one_partition_at_once_waits_for_nobody(
    broker: Broker, topic: Topic, tmp_path: Path
) -> None:
    async with app(broker, tmp_path) as built:
        producer = cast("RunProducer", built.producer)
        await producer.start()
        try:
            await (await producer.publish(topic, 0, [Outgoing(b"k", b"first", 0)])).acknowledged()
            together = [
                await producer.publish(topic, 0, [Outgoing(b"k", b"%d.%d" % (who, n), n) for n in range(3)])
                for who in range(20)
            ]
            last = [await sent.acknowledged() for sent in together]
            begins = {future.result().offset for sent in together for future in sent.futures}
        finally:
            await producer.stop()
    assert begins == {1}
    assert last == list(range(3, 61, 3))
    async with reader(broker) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        found = [(await consumer.getone()).value for _ in range(61)]
    assert found == [b"first", *(b"%d.%d" % (who, number) for who in range(20) for number in range(3))]


async def test_a_restore_brings_databases_to_the_end_and_reads_no_more_than_it_must(
    broker: Broker, topic: Topic, stores: PartitionStores, tmp_path: Path
) -> None:
    await write(broker, topic, 0, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"b", None))
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        assert await restore(consumer, topic, [0, 1], stores, form=SESSION_FORMAT) == 4
    assert dict(stores[0].items()) == {b"a": b"2"}
    assert (stores[0].offset(), stores[1].offset()) == (3, None)

    await write(broker, topic, 0, (b"c", b"1"))
    await write(broker, topic, 1, (b"d", b"1"))
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        assert await restore(consumer, topic, [0, 1], stores, form=SESSION_FORMAT) == 2
    assert dict(stores[0].items()) == {b"a": b"2", b"c": b"1"}
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        assert await restore(consumer, topic, [0, 1], stores, form=SESSION_FORMAT) == 0
        assert await restore(consumer, topic, [], stores, form=SESSION_FORMAT) == 0


async def test_state_that_may_have_missed_a_deletion_is_restored_from_the_beginning(
    broker: Broker, topic: Topic, stores: PartitionStores, tmp_path: Path
) -> None:
    # Partition 0 is behind for longer than deletions are kept, and "gone" was deleted so long ago that
    # nothing tells of it any more. Partition 1 is as old, but lacks the last entry of its log alone.
    for record in ((b"sa", b"[1,0,1]"), (b"sb", b"[1,0,2]"), (b"sa", b"[1,0,3]")):
        await write(broker, topic, 0, record)
    for record in ((b"sc", b"[1,1,1]"), (b"sd", b"[1,1,2]")):
        await write(broker, topic, 1, record)
    hour = 3_600_000
    stores[0].write([(b"sa", b"[1,0,1]"), (b"sgone", b"[1,0,0]")], 0, now_ms() - 2 * hour)
    stores[1].write([(b"sc", b"[1,1,1]"), (b"sgone", b"[1,1,0]")], 0, now_ms() - 2 * hour)

    async def bring_up(stores: PartitionStores, partitions: list[int], kept: int) -> int:
        asked = partial(asyncio.sleep, 0, kept)
        async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
            return await restore(
                consumer, topic, partitions, stores, form=SESSION_FORMAT, tombstones_kept_ms=asked
            )

    copy = PartitionStores(tmp_path / "copy", StoreOptions())
    copy[0].write([(b"sa", b"[1,0,1]"), (b"sgone", b"[1,0,0]")], 0, now_ms() - 2 * hour)
    assert await bring_up(copy, [0], 3 * hour) == 2
    assert set(dict(copy[0].items())) == {b"sa", b"sb", b"sgone"}
    copy.close_all()

    assert await bring_up(stores, [0, 1], hour) == 3 + 1
    assert dict(stores[0].items()) == {b"sa": b"[1,0,3]", b"sb": b"[1,0,2]"}
    assert dict(stores[1].items()) == {b"sc": b"[1,1,1]", b"sd": b"[1,1,2]", b"sgone": b"[1,1,0]"}


@pytest.mark.parametrize("ahead", [1, 1000])
async def test_state_of_another_cluster_is_refused(
    broker: Broker, topic: Topic, stores: PartitionStores, tmp_path: Path, ahead: int
) -> None:
    await write(broker, topic, 0, (b"a", b"1"), (b"b", b"1"))
    stores[0].write([(b"a", b"other")], 1 + ahead, 0)
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        with pytest.raises(StateError, match="another cluster"):
            await restore(consumer, topic, [0], stores, form=SESSION_FORMAT)
    assert stores[0].get(b"a") == b"other"


async def test_a_database_restored_from_far_back_outlives_a_kill(
    broker: Broker, topic: Topic, tmp_path: Path
) -> None:
    """Nothing is written to the log of the database: what the restore has finished is on the disk itself."""
    await write(broker, topic, 0, *((b"s%d" % number, b"[1,0,%d]" % number) for number in range(11_000)))
    directory = tmp_path / "stores"
    command = [sys.executable, "-c", RESTORER, broker.bootstrap, topic, str(directory), str(tmp_path)]
    restorer = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert restorer.stdout is not None
    assert await restorer.stdout.readline() == b"11000\n"
    restorer.kill()
    await restorer.wait()
    stores = PartitionStores(directory, StoreOptions())
    assert stores[0].offset() == 10_999
    assert sum(1 for _ in stores[0].items()) == 11_000
    stores.close_all()


RESTORER = """
import asyncio, sys
from pathlib import Path
from streams.worker.wiring import build
from streams.worker.state.changelog import SESSION_FORMAT
from streams.kafka.clock import now_ms
from streams.worker.faust.consumer_thread import RunConsumerThread, check_client, seek_to_committed
from streams.worker.state.restore import restore
from streams.worker.state.store import PartitionStores, StoreOptions
from streams.observe.settings import WorkerSettings

async def main(bootstrap, topic, directory, data):
    app = build(WorkerSettings(_env_file=None, bootstrap_servers=bootstrap, data_dir=Path(data)))
    stores = PartitionStores(Path(directory), StoreOptions())
    async with app.new_consumer() as consumer:
        print(await restore(consumer, topic, [0], stores, form=SESSION_FORMAT), flush=True)
        await asyncio.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.kafka_only("transactions that are left open, and compaction")
async def test_a_restore_waits_for_an_open_transaction_and_ends_behind_its_markers(
    broker: Broker, topic: Topic, stores: PartitionStores, tmp_path: Path, unique: Unique
) -> None:
    await write(broker, topic, 0, (b"sa", b"[1,0,1]"))
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=unique("writer"))
    await producer.start()
    await producer.begin_transaction()
    await producer.send_and_wait(topic, key=b"sa", value=b"[1,0,2]", partition=0)
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        restoring = asyncio.create_task(restore(consumer, topic, [0], stores, form=SESSION_FORMAT))
        await until(lambda: stores[0].offset() is not None, PATIENCE_SECONDS, "what is committed")
        # It has all that is committed, and is not done: more stands behind.
        assert stores[0].offset() == 0
        assert not restoring.done()
        await producer.commit_transaction()
        assert await restoring == 2
        assert (stores[0].get(b"sa"), stores[0].offset()) == (b"[1,0,2]", 2)

        await producer.begin_transaction()
        await producer.send_and_wait(topic, key=b"sa", value=b"[1,0,9]", partition=0)
        await producer.abort_transaction()
        assert await restore(consumer, topic, [0], stores, form=SESSION_FORMAT) == 0
    assert (stores[0].get(b"sa"), stores[0].offset()) == (b"[1,0,2]", 4)
    await producer.stop()
