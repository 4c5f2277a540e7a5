"""Transactions on Apache Kafka: all or nothing, one writer, and what a restore finds of them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError
from aiokafka.structs import OffsetAndMetadata

from streams.core.domain.record import NO_HEADERS
from streams.core.errors import InfrastructureError, ProducerFencedError
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.worker.delivery.exactly_once import TransactionBatch, Transactions
from streams.worker.delivery.producer import RunProducer
from streams.worker.effects import Consumed
from streams.worker.options import SESSIONS
from streams.worker.state.changelog import SESSION_FORMAT
from streams.worker.state.restore import restore
from streams.worker.state.store import PartitionStores
from tests.integration.brokers import Broker
from tests.integration.test_engine_on_broker import Topic, app, stores, topic, write
from tests.integration.worker_process import PATIENCE_SECONDS, until

__all__ = ["stores", "topic"]  # fixtures

pytestmark = [
    pytest.mark.integration,
    pytest.mark.kafka_only("the embedded broker has no transactions"),
]

Name = Callable[[str], str]


@asynccontextmanager
async def owner(
    broker: Broker, directory: Path, group: str, topic: Topic, **settings: object
) -> AsyncIterator[Transactions]:
    """Own partition 0 of the sessions as a worker does."""
    async with app(broker, directory, **settings) as built:
        producer = cast("RunProducer", built.producer)
        transactions = Transactions(
            lambda transactional_id: producer.new_transactional(transactional_id, 60_000),
            group=group,
            topics=[topic],
            within_s=30.0,
        )
        await transactions.assigned([(SESSIONS, 0)])
        try:
            yield transactions
        finally:
            await transactions.close()


def batch(topic: Topic, *records: tuple[bytes, bytes | None]) -> TransactionBatch:
    return TransactionBatch(topic, 0, [(key, value, 1_700_000_000_000, NO_HEADERS) for key, value in records])


async def committed_values(broker: Broker, topic: Topic) -> list[bytes | None]:
    async with connect(Connection(broker.bootstrap)) as brokers:
        return [stored.value async for stored in brokers.read(topic)]


async def committed_offset(broker: Broker, group: str, topic: Topic) -> int:
    """Return what the group has committed, -1 for nothing."""
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await admin.start()
    found: dict[TopicPartition, OffsetAndMetadata] = {}

    async def answered() -> bool:
        try:
            found.update(
                await admin.list_consumer_group_offsets(group, partitions=[TopicPartition(topic, 0)])
            )
        except GroupCoordinatorNotAvailableError:
            return False  # asked for its first group, a broker begins to make the topic of all groups
        return bool(found)  # a coordinator that is only starting answers with nothing

    try:
        await until(answered, PATIENCE_SECONDS, f"the coordinator of {group}")
        return int(found[TopicPartition(topic, 0)].offset)
    finally:
        await admin.close()


async def marked(broker: Broker, group: str, topic: Topic, offset: int) -> None:
    """Wait until this is the committed offset: it is when the markers are written, after the commit."""

    async def as_expected() -> bool:
        return await committed_offset(broker, group, topic) == offset

    await until(as_expected, PATIENCE_SECONDS, f"the offset {offset}")


async def test_what_is_written_and_how_far_it_was_read_is_committed_together(
    broker: Broker, topic: Topic, unique: Name, tmp_path: Path
) -> None:
    group, said = unique("group"), list[str]()
    async with owner(broker, tmp_path, group, topic) as transactions:
        producer = transactions.producer(SESSIONS, 0)
        for number in (1, 2):
            batches = [batch(topic, (b"a", b"%d" % number), (b"b", b"%d" % number))]
            [[written]] = await producer.transact(batches, Consumed(topic, 0, number), said.append)
    # A marker stands between the two.
    assert written.offset == 2 * 2 + 1 - 1
    assert said == ["transaction_sent", "transaction_acked", "committed"] * 2
    await marked(broker, group, topic, 2)
    assert await committed_values(broker, topic) == [b"1", b"1", b"2", b"2"]


async def test_a_record_that_the_broker_refuses_takes_everything_with_it(
    broker: Broker, topic: Topic, unique: Name, tmp_path: Path
) -> None:
    group = unique("group")
    too_large = b"x" * (17 << 20)
    settings = {"producer_max_batch_bytes": 20 << 20, "producer_max_request_bytes": 40 << 20}
    async with owner(broker, tmp_path, group, topic, producer_compression="none", **settings) as transactions:
        producer = transactions.producer(SESSIONS, 0)
        batches = [
            batch(topic, (b"a", b"1")),
            TransactionBatch(topic, 1, [(b"b", too_large, 1_700_000_000_000, NO_HEADERS)]),
        ]
        with pytest.raises(InfrastructureError, match="MessageSizeTooLarge"):
            await producer.transact(batches, Consumed(topic, 0, 1), lambda _: None)
        assert await committed_values(broker, topic) == []
        assert await committed_offset(broker, group, topic) == -1


async def test_who_starts_a_producer_of_a_partition_shuts_the_one_before_out(
    broker: Broker, topic: Topic, unique: Name, tmp_path: Path
) -> None:
    group, taken_over = unique("group"), False
    async with owner(broker, tmp_path / "1", group, topic) as first:
        zombie = first.producer(SESSIONS, 0)
        await zombie.transact([batch(topic, (b"a", b"1"))], Consumed(topic, 0, 1), lambda _: None)
        async with owner(broker, tmp_path / "2", group, topic) as second:
            for _ in range(2):
                with pytest.raises(ProducerFencedError):
                    await zombie.transact(
                        [batch(topic, (b"a", b"zombie"))], Consumed(topic, 0, 9), lambda _: None
                    )
            heir = second.producer(SESSIONS, 0)
            await heir.transact([batch(topic, (b"a", b"2"))], Consumed(topic, 0, 2), lambda _: None)
            taken_over = True
    assert taken_over
    await marked(broker, group, topic, 2)
    assert await committed_values(broker, topic) == [b"1", b"2"]


async def test_a_partition_that_went_away_is_written_to_no_more(
    broker: Broker, topic: Topic, unique: Name, tmp_path: Path
) -> None:
    async with owner(broker, tmp_path, unique("group"), topic) as transactions:
        held = transactions.producer(SESSIONS, 0)
        await transactions.close()
        with pytest.raises(ProducerFencedError):
            transactions.producer(SESSIONS, 0)
        with pytest.raises(ProducerFencedError):
            await held.transact([batch(topic, (b"a", b"1"))], None, lambda _: None)


async def test_a_producer_with_nothing_to_do_commits_its_position_now_and_then(
    broker: Broker, topic: Topic, unique: Name, tmp_path: Path
) -> None:
    group = unique("group")
    async with owner(broker, tmp_path, group, topic) as transactions:
        for position, idle_s, committed in ((5, 0, 5), (6, 3_600, 5), (None, 0, 5), (7, 0, 7)):
            consumed = None if position is None else Consumed(topic, 0, position)
            await transactions.keep_known(lambda *_, consumed=consumed: consumed, idle_s)  # type: ignore[misc]
            await marked(broker, group, topic, committed)
    assert await committed_values(broker, topic) == []


@pytest.mark.parametrize(
    "endings", ["committed", "aborted", "committed aborted", "aborted committed", "aborted aborted"]
)
async def test_a_restore_gets_over_markers_and_what_was_aborted(
    broker: Broker, topic: Topic, unique: Name, stores: PartitionStores, tmp_path: Path, endings: str
) -> None:
    await write(broker, topic, 0, (b"a", b"before"))
    async with writer(broker, unique("id")) as producer:
        for ending in endings.split():
            await producer.begin_transaction()
            await producer.send_and_wait(topic, ending.encode(), b"a", 0)
            await (producer.commit_transaction if ending == "committed" else producer.abort_transaction)()
    ends = 1 + 2 * len(endings.split())
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        read = await restore(consumer, topic, [0], stores, form=SESSION_FORMAT)
    assert read == 1 + endings.split().count("committed")
    assert stores[0].get(b"a") == (b"committed" if "committed" in endings.split() else b"before")
    # Nothing is read again: markers and aborted records are behind it.
    assert stores[0].offset() == ends - 1
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        assert await restore(consumer, topic, [0], stores, form=SESSION_FORMAT) == 0


async def test_a_restore_waits_for_what_a_dead_producer_left_open_until_it_is_fenced(
    broker: Broker, topic: Topic, unique: Name, stores: PartitionStores, tmp_path: Path
) -> None:
    group = unique("group")
    await die_in_a_transaction(broker, topic, f"{group}-{SESSIONS}-0")
    # What somebody without transactions has written behind it counts.
    await write(broker, topic, 0, (b"b", b"behind"))
    async with (
        owner(broker, tmp_path / "heir", group, topic),
        app(broker, tmp_path) as built,
        built.new_consumer() as consumer,
    ):
        assert await restore(consumer, topic, [0], stores, form=SESSION_FORMAT) == 1
    assert dict(stores[0].items()) == {b"b": b"behind"}


async def test_a_restore_without_a_fence_stops_neither_short_nor_for_ever(
    broker: Broker, topic: Topic, unique: Name, stores: PartitionStores, tmp_path: Path
) -> None:
    await die_in_a_transaction(broker, topic, unique("id"), transaction_timeout_ms=5_000)
    await write(broker, topic, 0, (b"b", b"behind"))
    async with app(broker, tmp_path) as built, built.new_consumer() as consumer:
        assert await restore(consumer, topic, [0], stores, form=SESSION_FORMAT) == 1
    assert dict(stores[0].items()) == {b"b": b"behind"}


@asynccontextmanager
async def writer(broker: Broker, transactional_id: str) -> AsyncIterator[AIOKafkaProducer]:
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap, transactional_id=transactional_id
    ) as producer:
        yield producer


async def die_in_a_transaction(
    broker: Broker, topic: Topic, transactional_id: str, **options: object
) -> None:
    """Write a record, and neither commit nor abort it."""
    dead = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=transactional_id, **options)
    await dead.start()
    await dead.begin_transaction()
    await dead.send_and_wait(topic, b"open", b"a", 0)
    await dead.stop()
