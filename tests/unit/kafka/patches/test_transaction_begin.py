"""A transaction begins in one round, and still ends when everything is acknowledged."""

import asyncio

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import ConcurrentTransactions, GroupAuthorizationFailedError

from streams.core.domain.outgoing import Row
from streams.kafka.patches.transaction_begin import TransactionBegin
from streams.worker.crash_point import CrashPoint
from streams.worker.delivery.producer import publish
from streams.worker.delivery.transactions import TransactionalProducer, TransactionBatch
from streams.worker.effects import Consumed
from tests.unit.kafka.answering_broker import TOPIC, AnsweringBroker

GROUP = "eddy"
ROWS: list[Row] = [(b"k", b"v", 1_000, [])]
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
