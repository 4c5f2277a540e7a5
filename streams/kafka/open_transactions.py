"""Which producer has left a transaction open on a partition: a reader of committed records only waits for it.

aiokafka has neither request, so they are written here: DescribeProducers (KIP-664) of the partition's leader
names the producer by its number, ListTransactions of every broker the transactional id that people know.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import CompactArray, CompactString, Int16, Int32, Int64, Schema, TaggedFields
from aiokafka.structs import TopicPartition

from streams.kafka.connection import Connection

_PATIENCE_SECONDS: Final = 5.0


class _ProducersResponse(Response):  # type: ignore[misc]  # aiokafka has no types
    API_KEY = 61
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "topics",
            CompactArray(
                ("name", CompactString("utf-8")),
                (
                    "partitions",
                    CompactArray(
                        ("partition_index", Int32),
                        ("error_code", Int16),
                        ("error_message", CompactString("utf-8")),
                        (
                            "active_producers",
                            CompactArray(
                                ("producer_id", Int64),
                                ("producer_epoch", Int32),
                                ("last_sequence", Int32),
                                ("last_timestamp", Int64),
                                ("coordinator_epoch", Int32),
                                ("current_txn_start_offset", Int64),
                                ("tags", TaggedFields),
                            ),
                        ),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class _ProducersStruct(RequestStruct):  # type: ignore[misc]
    API_KEY = 61
    API_VERSION = 0
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _ProducersResponse
    SCHEMA = Schema(
        (
            "topics",
            CompactArray(
                ("name", CompactString("utf-8")),
                ("partition_indexes", CompactArray(Int32)),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class _DescribeProducers(Request[_ProducersStruct]):  # type: ignore[misc]
    API_KEY = 61

    def __init__(self, topic: str, partition: int) -> None:
        self._topic, self._partition = topic, partition

    def build(self, request_struct_class: type[_ProducersStruct]) -> _ProducersStruct:
        return request_struct_class([(self._topic, [self._partition], {})], {})


class _TransactionsResponse(Response):  # type: ignore[misc]
    API_KEY = 66
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        ("unknown_state_filters", CompactArray(CompactString("utf-8"))),
        (
            "transaction_states",
            CompactArray(
                ("transactional_id", CompactString("utf-8")),
                ("producer_id", Int64),
                ("transaction_state", CompactString("utf-8")),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class _TransactionsStruct(RequestStruct):  # type: ignore[misc]
    API_KEY = 66
    API_VERSION = 0
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _TransactionsResponse
    SCHEMA = Schema(
        ("state_filters", CompactArray(CompactString("utf-8"))),
        ("producer_id_filters", CompactArray(Int64)),
        ("tags", TaggedFields),
    )


class _ListTransactions(Request[_TransactionsStruct]):  # type: ignore[misc]
    API_KEY = 66

    def __init__(self, producer_id: int) -> None:
        self._producer_id = producer_id

    def build(self, request_struct_class: type[_TransactionsStruct]) -> _TransactionsStruct:
        return request_struct_class([], [self._producer_id], {})


async def transaction_owner(connection: Connection, topic: str, partition: int) -> str | None:
    """Return whose open transaction a partition waits for, in words; None if the brokers do not say it.

    Args:
        connection: How to reach the brokers.
        topic: The topic, as it is called on these brokers.
        partition: Number of the partition.
    """
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            client = AIOKafkaClient(**connection.client_options())
            try:
                await client.bootstrap()
                await client.set_topics([topic])
                return await _owner(client, topic, partition)
            finally:
                await client.close()
    except (OSError, KafkaError, TimeoutError, NotImplementedError):
        return None  # what the line is about is another trouble, and it is said without a name


async def _owner(client: Any, topic: str, partition: int) -> str | None:
    leader = client.cluster.leader_for_partition(TopicPartition(topic, partition))
    if leader is None or leader < 0:
        return None
    answer = await client.send(leader, _DescribeProducers(topic, partition))
    found = [
        (start, producer_id)
        for _, partitions, _ in answer.topics
        for _, _, _, producers, _ in partitions
        for producer_id, _, _, _, _, start, _ in producers
        if start >= 0
    ]
    if not found:
        return None
    start, producer_id = min(found)
    for node in client.cluster.brokers():
        listed = await client.send(node.nodeId, _ListTransactions(producer_id))
        for name, _, _, _ in listed.transaction_states:
            return f"the producer with the transactional id {name}, since offset {start}"
    return f"the producer {producer_id}, since offset {start}"
