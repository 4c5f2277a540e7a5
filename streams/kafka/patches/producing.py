"""What aiokafka's producer keeps to itself: coordinators, requests, waiting batches, transactions.

Several requests to a broker at a time. aiokafka's producer sends a broker one request, and the next one only
some turns of the event loop after its answer. Where lanes share a producer, each waits for the requests of
the others, for its outputs and again for its changelog. Order does not need that: of a topic partition one
batch at most is on its way, as before.

Looking for a coordinator again when the broker that was asked for it goes away. aiokafka 0.14 asks any broker
who coordinates a transaction or a group. It asks another one where the first cannot be reached or gives no
answer in time, but not where the connection breaks before the answer: that ends a transactional producer for
good, and the worker with it, whenever a broker dies at that moment.

The begin of a transaction, in one round instead of two. aiokafka asks for one thing after another, and waits
several turns of the worker's event loop in between: add the partitions, write the batches, add the group,
commit its offset, end the transaction. Here the group is added with the partitions, one request behind the
other on the connection to the coordinator, which answers them in order.

What is left stays in a row. A broker that gets the first batch of a transaction for a partition, or its
offset, asks the coordinator whether the partition belongs to it. To two such questions about one transaction,
or to one while something is being added, it has no answer, refuses for now, and is asked again 20 ms later.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.client import CoordinationType
from aiokafka.errors import KafkaConnectionError, NodeNotReadyError, NoError, for_code
from aiokafka.producer import sender as aiokafka_sender
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.producer.sender import AddOffsetsToTxnHandler
from aiokafka.structs import RecordMetadata

#: As many as other Kafka clients have.
_AT_ONCE = 5


class InFlight:
    """How many requests are on their way to each broker, in place of aiokafka's set of busy ones.

    Args:
        at_once: A broker with this many is busy.
    """

    def __init__(self, at_once: int = _AT_ONCE) -> None:
        self._at_once = at_once
        self._requests: Counter[int] = Counter()

    def add(self, node_id: int) -> None:
        """Take note of a request."""
        self._requests[node_id] += 1

    def remove(self, node_id: int) -> None:
        """Take note of an answer, or of a failure."""
        self._requests[node_id] -= 1

    def __contains__(self, node_id: int) -> bool:
        """Tell whether a broker is to get no further request for now."""
        return self._requests[node_id] >= self._at_once


def allow_several_in_flight(producer: AIOKafkaProducer) -> None:
    """Let a producer that was not started yet send the next request before the last is answered."""
    producer._sender._in_flight = InFlight()


def find_coordinators(producer: Any) -> None:
    """Let an ``AIOKafkaProducer`` look up again when the connection breaks before the answer."""
    client = producer.client
    look_up = client.coordinator_lookup

    async def look_up_again(coordinator_type: int, coordinator_key: str) -> Any:
        try:
            return await look_up(coordinator_type, coordinator_key)
        except KafkaConnectionError as error:
            raise NodeNotReadyError(str(error)) from error

    client.coordinator_lookup = look_up_again


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


#: How long a producer waits before it asks again to begin while the broker still writes the markers of the
#: transaction before, seconds. aiokafka's own is 20 ms.
_BACKOFF_S = 0.002

aiokafka_sender.BACKOFF_OVERRIDE = _BACKOFF_S


class _EarlyGroup(AddOffsetsToTxnHandler):  # type: ignore[misc]  # aiokafka has no types
    """Adds the group if it can. If something prevents it, the next request, with the offset, reports that."""

    def handle_response(self, resp: Any) -> float | None:
        if for_code(resp.error_code) is NoError:
            super().handle_response(resp)
        return None


class TransactionBegin:
    """Begins the transactions of a producer.

    Args:
        producer: With a transactional id, not started.
        group: The consumer group whose offsets go into the transactions.
    """

    def __init__(self, producer: AIOKafkaProducer, group: str) -> None:
        self._group = group
        self._with_offset = False
        self._transactions = producer._txn_manager
        self._sender: Any = producer._sender
        self._add_partitions = self._sender._do_add_partitions_to_txn
        self._sender._do_add_partitions_to_txn = self._add

    def begin(self, *, with_offset: bool) -> None:
        """Begin a transaction of a started producer, which an offset will go into or not."""
        self._with_offset = with_offset
        # Not by the producer, which waits in a task of its own for an id that it has since its start.
        self._transactions.begin_transaction()

    async def _add(self, partitions: Any) -> None:
        adding = [self._add_partitions(partitions)]
        # Partitions are added again where the coordinator was still busy with the transaction before.
        if self._with_offset and self._transactions._txn_consumer_group is None:
            adding.append(self._add_group())
        for failure in await asyncio.gather(*adding, return_exceptions=True):
            if isinstance(failure, BaseException):
                raise failure

    async def _add_group(self) -> None:
        node_id = await self._sender._find_coordinator(
            CoordinationType.TRANSACTION, self._transactions.transactional_id
        )
        await _EarlyGroup(self._sender, self._group).do(node_id)
