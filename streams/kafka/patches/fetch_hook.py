"""The one place where a fetch of aiokafka is taken part in.

aiokafka has no hook around a fetch. What Eddy needs to know before and after one is a stage: a function that
is called before the request, and returns what is to be done after the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from aiokafka.structs import TopicPartition


class PartitionState(Protocol):
    """What aiokafka's consumer knows of an assigned partition."""

    #: When the newest answer that was taken was read, ms.
    timestamp: int | None
    #: The offset after the newest record that consumers may read, as of that answer.
    highwater: int

    @property
    def awaiting_reset(self) -> bool:
        """Whether the broker does not have the position."""


class Assignment(Protocol):
    """An assignment of aiokafka's consumer."""

    @property
    def active(self) -> bool:
        """Whether no other assignment has come since."""

    def state_value(self, tp: TopicPartition) -> PartitionState:
        """Return what is known of a partition of it."""


#: Called with the assignment and the positions that are asked for; returns what to do after the answer.
FetchStage: TypeAlias = Callable[[Assignment, Mapping[TopicPartition, int]], Callable[[], None]]


def hook_fetch(consumer: Any, *stages: FetchStage) -> None:
    """Let a started ``AIOKafkaConsumer`` pass each fetch through the stages, in their order.

    A fetch that fails does not reach what a stage does after the answer.
    """
    fetcher = consumer._fetcher
    fetch = fetcher._proc_fetch_request

    async def fetch_in_stages(assignment: Assignment, node_id: int, request: Any) -> Any:
        positions = {
            TopicPartition(topic, partition): position
            for topic, partitions in request.topics
            for partition, position, *_ in partitions
        }
        after_answer = [stage(assignment, positions) for stage in stages]
        wakes = await fetch(assignment, node_id, request)
        for finish in after_answer:
            finish()
        return wakes

    fetcher._proc_fetch_request = fetch_in_stages
