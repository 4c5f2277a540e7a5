"""Batches that wait in aiokafka's producer: append to one, and note what became of them."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.structs import RecordMetadata


class OpenBatch(NamedTuple):
    """A batch that takes more records; ``future`` is that of the whole batch, which waits to be sent."""

    builder: BatchBuilder
    future: asyncio.Future[RecordMetadata]


def open_batch(producer: AIOKafkaProducer, topic: str, partition: int) -> OpenBatch | None:
    """Return the batch of a partition that waits to be sent and takes more records, if there is one."""
    waiting = producer._message_accumulator._batches.get(TopicPartition(topic, partition))
    # It leaves this list when its sequence numbers are given out, which is before it is closed.
    if waiting and not waiting[-1]._builder.closed():
        return OpenBatch(waiting[-1]._builder, waiting[-1].future)
    return None


def uncompressed_batch(producer: AIOKafkaProducer) -> BatchBuilder:
    """Return an empty batch that the producer does not compress."""
    transactions = producer._txn_manager
    transactional = transactions is not None and transactions.transactional_id is not None
    return BatchBuilder(producer._message_accumulator._batch_size, 0, is_transactional=transactional)


def retrieve_failures(producer: AIOKafkaProducer) -> None:
    """Retrieve the errors that no code awaits; else each becomes a stack trace in the log."""
    waiting = [producer._txn_manager.wait_for_transaction_end()]
    for batches in producer._message_accumulator._batches.values():
        waiting += [batch._drain_waiter for batch in batches]
    for future in waiting:
        if future is not None and future.done() and not future.cancelled():
            future.exception()
