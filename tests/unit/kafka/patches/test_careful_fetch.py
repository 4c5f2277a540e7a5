"""What becomes of a position that a broker calls out of range."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.errors import OffsetOutOfRangeError
from aiokafka.protocol.fetch import FetchRequest, FetchResponse_v11
from aiokafka.structs import TopicPartition

from streams.kafka.patches.careful_fetch import read_carefully
from streams.kafka.patches.record_batches import BatchWatch

TP = TopicPartition("decision-logs", 3)
LEADER, COPY = 1, 2
REQUEST = FetchRequest(50, 1, 1024, 1, [(TP.topic, [(TP.partition, 40, 1024)])], rack_id="zone-2")


class Brokers:
    """The client of a consumer: the leader sends readers to the copy, and one of both lacks the position."""

    def __init__(self, lacking: int) -> None:
        self._lacking = lacking
        self._loop = asyncio.get_running_loop()
        self._metadata_max_age_ms = 300_000
        self.looks_at_metadata = 0
        self.leader = LEADER
        self.cluster = SimpleNamespace(
            leader_for_partition=lambda _: self.leader, broker_metadata=lambda _: True
        )

    def force_metadata_update(self) -> None:
        self.looks_at_metadata += 1

    async def send(self, node: int, _request: Any) -> FetchResponse_v11:
        error = OffsetOutOfRangeError.errno if node == self._lacking else 0
        of_partition = (TP.partition, error, 100, 100, 0, [], COPY if node == LEADER else -1, b"")
        return FetchResponse_v11(0, 0, 0, [(TP.topic, [of_partition])])


@pytest.mark.parametrize(
    ("lacking", "leader_then", "begins_again"),
    [(COPY, LEADER, False), (COPY, -1, False), (LEADER, LEADER, True)],
)
async def test_only_the_leader_says_that_a_position_is_gone(
    lacking: int, leader_then: int, begins_again: bool
) -> None:
    brokers, subscriptions = Brokers(lacking), SubscriptionState()
    fetcher = Fetcher(brokers, subscriptions, auto_offset_reset="earliest", client_rack="zone-2")
    fetcher._fetch_task.cancel()
    try:
        read_carefully(SimpleNamespace(_fetcher=fetcher), BatchWatch(1 << 20))
        subscriptions.assign_from_user([TP])
        assignment = subscriptions.subscription.assignment
        assignment.state_value(TP).seek(40)
        for leader in (LEADER, leader_then):
            node = fetcher._select_read_replica(TP)
            brokers.leader = leader
            await fetcher._proc_fetch_request(assignment, node, REQUEST)
        assert assignment.state_value(TP).awaiting_reset is begins_again
        assert fetcher._select_read_replica(TP) == leader_then
        assert brokers.looks_at_metadata == (0 if begins_again else 1)
    finally:
        await fetcher.close()
