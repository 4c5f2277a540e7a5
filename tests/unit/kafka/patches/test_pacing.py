"""What is read only so often is paused after a poll, and nothing of it is lost or fetched twice."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from aiokafka.structs import TopicPartition
from faust.types import TP

from streams.kafka.patches.group_consumer import Pacing

DECISIONS, PACED, OTHER = (
    TopicPartition("decision-logs", 0),
    TopicPartition("contributions", 0),
    TopicPartition("contributions", 1),
)


class Consumer:
    """What aiokafka's consumer has of this: buffers, an assignment, and partitions that are paused."""

    def __init__(self) -> None:
        self._fetcher = SimpleNamespace(_records={})
        self.assigned = {DECISIONS, PACED, OTHER}
        self.paused: set[TopicPartition] = set()
        self.resumed = asyncio.Event()

    def assignment(self) -> set[TopicPartition]:
        return self.assigned

    def pause(self, *partitions: TopicPartition) -> None:
        assert set(partitions) <= self.assigned, "aiokafka raises"
        assert all(type(partition) is TopicPartition for partition in partitions), "aiokafka takes no other"
        self.paused |= set(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        assert set(partitions) <= self.assigned, "aiokafka raises"
        self.paused -= set(partitions)
        self.resumed.set()


def pacing(consumer: Any, pause_s: float) -> Pacing:
    return Pacing(consumer, {"contributions": pause_s})


async def test_only_a_partition_that_brought_something_is_paused_and_only_of_a_paced_topic() -> None:
    consumer = Consumer()
    pacing(consumer, 3600).polled([DECISIONS, TP("contributions", 0)])
    assert consumer.paused == {PACED}


async def test_it_is_read_again_after_its_pause() -> None:
    consumer = Consumer()
    pacing(consumer, 0.01).polled([PACED])
    await consumer.resumed.wait()
    assert consumer.paused == set()


async def test_as_long_as_some_of_it_is_buffered_it_is_not_paused() -> None:
    consumer = Consumer()
    consumer._fetcher._records[PACED] = "the rest"
    pacing(consumer, 3600).polled([PACED, OTHER])
    assert consumer.paused == {OTHER}


async def test_a_partition_that_went_meanwhile_is_left_alone() -> None:
    consumer = Consumer()
    pacing(consumer, 0.01).polled([PACED, OTHER])
    consumer.assigned = {OTHER}
    await consumer.resumed.wait()
    assert consumer.paused == {PACED}


async def test_a_partition_that_is_gone_already_is_not_paused() -> None:
    consumer = Consumer()
    consumer.assigned = {DECISIONS}
    pacing(consumer, 3600).polled([PACED])
    assert consumer.paused == set()


async def test_without_a_pause_nothing_is_paused() -> None:
    consumer = Consumer()
    pacing(consumer, 0).polled([PACED])
    assert consumer.paused == set()
