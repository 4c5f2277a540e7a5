"""The begin of a transaction, in one round instead of two.

aiokafka asks for one thing after another, and waits several turns of the worker's event loop in between: add
the partitions, write the batches, add the group, commit its offset, end the transaction. Here the group is
added with the partitions, one request behind the other on the connection to the coordinator, which answers
them in order.

What is left stays in a row. A broker that gets the first batch of a transaction for a partition, or its
offset, asks the coordinator whether the partition belongs to it. To two such questions about one transaction,
or to one while something is being added, it has no answer, refuses for now, and is asked again 20 ms later.
"""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.client import CoordinationType
from aiokafka.errors import NoError, for_code
from aiokafka.producer import sender
from aiokafka.producer.sender import AddOffsetsToTxnHandler

#: How long a producer waits before it asks again to begin while the broker still writes the markers of the
#: transaction before, seconds. aiokafka's own is 20 ms.
_BACKOFF_S = 0.002

sender.BACKOFF_OVERRIDE = _BACKOFF_S


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
