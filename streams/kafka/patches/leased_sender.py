"""A producer that sends under a lease: nothing leaves it when the lease is over, and nothing arrives late.

aiokafka's sender makes one object of each request that has batches in it. Ours looks at the lease when the
broker is connected, right before the write: nothing is waited for in between. What has left it by then is
taken back when the lease runs out, by resetting the connections: what the kernel could not send goes, too.

What was given up when a term ended must not be sent after the next one has begun. It has sequence numbers
that no broker will ever see, so what follows comes from a producer id of its own.
"""

from __future__ import annotations

import itertools
import logging
import socket
import struct
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.conn import CloseReason
from aiokafka.errors import KafkaError, NodeNotReadyError
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.producer.transaction_manager import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, PidAndEpoch

from streams.kafka.patches.redating import Redating, RedatingRequest

#: SO_LINGER on, for no time: a close resets the connection and drops what was not sent.
_NO_LINGER = struct.pack("ii", 1, 0)

log = logging.getLogger(__name__)


class SendingLease(Protocol):
    """The lease of a worker on its partitions, as far as its producer asks for it."""

    @property
    def held(self) -> bool:
        """Whether the worker may send now."""

    @property
    def term(self) -> int:
        """How many terms have ended: what was made in one is never sent in the next."""

    async def news(self) -> None:
        """Wait until the lease is renewed or ends."""

    def bind(self, publisher: LeasedSender) -> None:
        """Report the end of the lease to ``publisher`` from now on."""


class LeaseEndedError(KafkaError):  # type: ignore[misc]
    """The lease ended before the batch was acknowledged. It may have been written, and never will be now."""


class _Connected:
    """aiokafka's client, as one request uses it.

    Args:
        client: The client of the producer, which sends the request.
        lease: Must be held at the write.
        batches: Those of the request. One that is settled was given up.
    """

    def __init__(self, client: Any, lease: SendingLease, batches: Collection[Any]) -> None:
        self._client = client
        self._lease = lease
        self._batches = batches

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def send(self, node_id: int, request: Any) -> Any:
        """Send when the lease is held.

        Raises:
            LeaseEndedError: it ended before that.
            NodeNotReadyError: the broker cannot be reached.
        """
        while True:
            while not self._lease.held:
                self._check()
                await self._lease.news()
            # That may take long, so the lease is looked at again.
            if not await self._client.ready(node_id):
                raise NodeNotReadyError(f"Node {node_id} cannot be reached.")
            self._check()
            if self._lease.held:
                return await self._client.send(node_id, request)

    def _check(self) -> None:
        if any(batch.future.done() for batch in self._batches):
            raise LeaseEndedError


class _LeasedRequest(RedatingRequest):
    def __init__(
        self, sender: Any, batches: Mapping[Any, Any], redating: Redating, lease: SendingLease
    ) -> None:
        super().__init__(sender, batches, redating)
        self._client = _Connected(sender.client, lease, batches.values())


class LeasedSender:
    """Puts a producer that was not started yet under a lease.

    Args:
        producer: A producer without transactions.
        redating: The redating of this producer.
        lease: Tells it when to take back, and when to abandon, what it has.
    """

    def __init__(self, producer: AIOKafkaProducer, redating: Redating, lease: SendingLease) -> None:
        # aiokafka has no hook for any of it.
        self._client: Any = producer.client
        self._accumulator: Any = producer._message_accumulator
        self._ids: Any = producer._txn_manager
        self._sender: Any = producer._sender
        self._redating = redating
        self._lease = lease
        self._abrupt: WeakSet[Any] = WeakSet()
        self._put_back = self._accumulator.reenqueue
        self._connect = self._client._get_conn
        #: The term in which each batch was handed over that waits for its place in the queue.
        self._terms: WeakKeyDictionary[BatchBuilder, int] = WeakKeyDictionary()
        self._queue = producer.send_batch
        self._append = self._accumulator._append_batch
        producer.send_batch = self._queue_in_term
        self._accumulator._append_batch = self._append_in_term
        self._accumulator.reenqueue = self._put_back_unless_given_up
        self._client._get_conn = self._connect_abruptly
        self._sender._send_produce_req = self._send
        lease.bind(self)

    async def _send(self, node_id: int, batches: Mapping[Any, Any]) -> None:
        request = _LeasedRequest(self._sender, batches, self._redating, self._lease)
        await self._redating.finish(node_id, batches, request)

    async def _queue_in_term(self, batch: BatchBuilder, topic: str, *, partition: int) -> Any:
        """Queue a batch, unless its term ends while it waits for its place.

        It would never be sent, and a rebalance, which waits for all that is queued, would never end.

        Raises:
            LeaseEndedError: the term has ended.
        """
        self._terms[batch] = self._lease.term
        return await self._queue(batch, topic, partition=partition)

    def _append_in_term(self, batch: BatchBuilder, tp: TopicPartition) -> Any:
        if self._terms.pop(batch, self._lease.term) != self._lease.term:
            raise LeaseEndedError
        return self._append(batch, tp)

    def _put_back_unless_given_up(self, batch: Any) -> None:
        if not batch.future.done():
            self._put_back(batch)

    async def _connect_abruptly(self, node_id: int, **options: Any) -> Any:
        """Connect so that whatever closes the connection, the process's end too, drops what is unsent."""
        connection = await self._connect(node_id, **options)
        if connection is not None and connection.connected() and connection not in self._abrupt:
            self._abrupt.add(connection)
            with suppress(OSError):  # it broke a moment ago
                of_socket = connection._writer.get_extra_info("socket")
                of_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        return connection

    def take_back(self) -> None:
        """Reset the connections on which an answer is awaited: what was sent there is sent again or never."""
        for connection in list(self._client._conns.values()):
            if connection.connected() and connection._requests:
                connection._writer.transport.abort()
                connection.close(reason=CloseReason.CONNECTION_BROKEN)

    def abandon(self) -> None:
        """Fail all batches, and send nothing of them any more."""
        waiting = list(itertools.chain.from_iterable(self._accumulator._batches.values()))
        pending = self._accumulator._pending_batches
        # A batch that was sent once takes itself out of these when it is settled.
        pending.update(batch for batch in waiting if batch.retry_count)
        # One that was given up a moment ago takes itself out at the next turn of the loop.
        given_up = [batch for batch in {*waiting, *pending} if not batch.future.done()]
        if not given_up:
            return
        self.take_back()
        self._accumulator._batches.clear()
        for batch in given_up:
            batch.failure(LeaseEndedError())
            # A task may wait for it, or none.
            for future in (batch.future, batch._drain_waiter):
                future.exception()
        if self._ids is not None:
            self._ids._sequence_numbers.clear()
            self._ids._pid_and_epoch = PidAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
            self._ids._pid_waiter = self._accumulator._loop.create_future()
        log.warning(
            "This worker was taken for dead, or may have been. Batches given up: %s. The worker "
            "that gets the partitions processes their runs again.",
            len(given_up),
        )
