"""Several requests on their way to a broker, one batch of a topic partition."""

import asyncio
from types import SimpleNamespace

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.client import CoordinationType
from aiokafka.errors import (
    ConcurrentTransactions,
    GroupAuthorizationFailedError,
    KafkaConnectionError,
    KafkaError,
)
from aiokafka.producer.sender import Sender

from streams.core.domain.record import Row
from streams.kafka.patches.producing import (
    InFlight,
    TransactionBegin,
    allow_several_in_flight,
    find_coordinators,
)
from streams.worker.crash_point import CrashPoint
from streams.worker.delivery.exactly_once import TransactionalProducer, TransactionBatch
from streams.worker.delivery.producer import publish
from streams.worker.effects import Consumed
from tests.unit.kafka.answering_broker import TOPIC, AnsweringBroker

ROWS: list[Row] = [(b"k", b"v", 1_000, [])]


def test_a_broker_is_busy_with_as_many_requests_as_it_may_have_at_once() -> None:
    in_flight = InFlight(2)
    for node_id, busy in ((1, False), (1, True), (2, False)):
        in_flight.add(node_id)
        assert (node_id in in_flight) is busy
    in_flight.remove(1)
    assert 1 not in in_flight


async def test_a_request_waits_for_no_other_but_that_of_its_own_partition() -> None:
    producer = AIOKafkaProducer(enable_idempotence=True)
    allow_several_in_flight(producer)
    async with AnsweringBroker(producer).serving() as broker:
        await publish(producer, TOPIC, 0, ROWS)
        first = await broker.next()
        behind = await publish(producer, TOPIC, 0, ROWS)
        beside = await publish(producer, TOPIC, 1, ROWS)
        second = await broker.next()
        assert (first.partitions, second.partitions) == ([0], [1])
        second.give()
        await beside.acknowledged()
        first.give()
        third = await broker.next()
        assert third.partitions == [0]
        third.give()
        await behind.acknowledged()


class Client:
    def __init__(self, *outcomes: KafkaError | int) -> None:
        self._outcomes = iter(outcomes)

    async def coordinator_lookup(self, coordinator_type: int, coordinator_key: str) -> int:
        assert (coordinator_type, coordinator_key) == (CoordinationType.GROUP, "eddy")
        outcome = next(self._outcomes)
        if isinstance(outcome, KafkaError):
            raise outcome
        return outcome

    async def force_metadata_update(self) -> None:
        """Nothing has changed."""

    async def ready(self, _node_id: int, *, group: object) -> bool:
        return group is not None


async def found(*outcomes: KafkaError | int) -> int:
    client = Client(*outcomes)
    find_coordinators(SimpleNamespace(client=client))
    sender = Sender(
        client,
        acks=-1,
        txn_manager=SimpleNamespace(transactional_id="eddy-sessions-0"),
        message_accumulator=None,
        retry_backoff_ms=0,
        request_timeout_ms=1000,
    )
    coordinator: int = await sender._find_coordinator(CoordinationType.GROUP, "eddy")
    return coordinator


async def test_another_broker_is_asked_when_the_connection_to_the_first_breaks() -> None:
    assert await found(KafkaConnectionError("closed"), KafkaConnectionError("closed"), 2) == 2


async def test_a_coordinator_that_refuses_is_not_asked_again() -> None:
    with pytest.raises(GroupAuthorizationFailedError):
        await found(GroupAuthorizationFailedError("eddy"), 2)


GROUP = "eddy"

BATCHES = [TransactionBatch(TOPIC, 0, ROWS), TransactionBatch(TOPIC, 1, ROWS)]
ADDED = ["AddPartitionsToTxn", "AddOffsetsToTxn"]


@pytest.fixture
async def producer() -> AIOKafkaProducer:
    """A client that has not been started."""
    return AIOKafkaProducer(transactional_id="eddy-sessions-0")


async def test_partitions_and_group_are_added_at_once_and_the_rest_in_a_row(
    producer: AIOKafkaProducer,
) -> None:
    transactional = TransactionalProducer(producer, "eddy-sessions-0", group=GROUP, within_s=10.0)
    reached: list[CrashPoint] = []
    async with AnsweringBroker(producer).serving() as broker:
        for _ in range(2):
            done = asyncio.create_task(transactional.transact(BATCHES, Consumed("in", 0, 5), reached.append))
            together = [await broker.next(), await broker.next()]
            assert [each.name for each in together] == ADDED
            for each in together:
                each.give()
            for name in ("Produce", "TxnOffsetCommit", "EndTxn"):
                asked = await broker.next()
                assert asked.name == name
                asked.give()
            assert [written[-1].offset for written in await done] == [0, 0]
    assert reached == 2 * [
        CrashPoint.TRANSACTION_SENT,
        CrashPoint.TRANSACTION_ACKED,
        CrashPoint.COMMITTED,
    ]


async def test_no_group_is_added_where_nothing_was_consumed(producer: AIOKafkaProducer) -> None:
    transactional = TransactionalProducer(producer, "eddy-sessions-0", group=GROUP, within_s=10.0)
    async with AnsweringBroker(producer).serving() as broker:
        done = asyncio.create_task(transactional.transact(BATCHES, None, lambda _: None))
        for name in ("AddPartitionsToTxn", "Produce", "EndTxn"):
            asked = await broker.next()
            assert asked.name == name
            asked.give()
        assert [written[-1].offset for written in await done] == [0, 0]


@pytest.mark.parametrize("group_was_added", [False, True])
async def test_what_a_busy_coordinator_did_not_add_is_added_again(
    producer: AIOKafkaProducer, *, group_was_added: bool
) -> None:
    begin = TransactionBegin(producer, GROUP)
    async with AnsweringBroker(producer).serving() as broker:
        begin.begin(with_offset=True)
        sent = await publish(producer, TOPIC, 0, ROWS)
        partitions, group = await broker.next(), await broker.next()
        partitions.give(ConcurrentTransactions)
        if group_was_added:
            group.give()
        else:
            group.give(ConcurrentTransactions)
        for name in ADDED[:1] if group_was_added else ADDED:
            again = await broker.next()
            assert again.name == name
            again.give()
        asked = await broker.next()
        assert asked.name == "Produce"
        asked.give()
        await sent.acknowledged()


async def test_a_group_that_may_not_be_added_is_told_with_its_offset(producer: AIOKafkaProducer) -> None:
    begin = TransactionBegin(producer, GROUP)
    async with AnsweringBroker(producer).serving() as broker:
        begin.begin(with_offset=True)
        sent = await publish(producer, TOPIC, 0, ROWS)
        partitions, group = await broker.next(), await broker.next()
        partitions.give()
        group.give(GroupAuthorizationFailedError)
        asked = await broker.next()
        asked.give()
        await sent.acknowledged()
        offset = asyncio.create_task(
            producer.send_offsets_to_transaction({TopicPartition("in", 0): 5}, GROUP)
        )
        asked = await broker.next()
        assert asked.name == "AddOffsetsToTxn"
        asked.give(GroupAuthorizationFailedError)
        with pytest.raises(GroupAuthorizationFailedError):
            await offset
        with pytest.raises(GroupAuthorizationFailedError):
            await producer.commit_transaction()
