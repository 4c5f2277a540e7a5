"""What aiokafka's consumer keeps to itself: errors, committed offsets, the assignment, and its options."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from streams.kafka.patches.fetch_hook import Assignment


def raise_error(consumer: AIOKafkaConsumer) -> None:
    """Raise the error that aiokafka keeps for the code that polls it.

    With such an error the client stands still for ever: it joins no group, sends no heartbeat, fetches
    nothing. A client that still looks for its first broker has none: its start reports that itself.

    Raises:
        KafkaError: the error.
    """
    fetcher, coordinator = consumer._fetcher, consumer._coordinator
    if consumer._closed or fetcher is None:
        return
    fetching = fetcher._fetch_task
    if fetching.done() and not fetching.cancelled():
        fetching.result()
    if coordinator is not None:
        coordinator.check_errors()


async def committed_offsets(
    consumer: AIOKafkaConsumer, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the committed offsets of the partitions that have one, by one request for all."""
    found: dict[TopicPartition, OffsetAndMetadata] = await consumer._coordinator.fetch_committed_offsets(
        list(partitions)
    )
    return found


def request_rejoin(consumer: AIOKafkaConsumer) -> None:
    """Let a member join its group again; call it in the thread of the consumer."""
    consumer._coordinator.request_rejoin()


def current_assignment(consumer: AIOKafkaConsumer) -> Assignment | None:
    """Return the assignment of this moment."""
    subscription = consumer._subscription.subscription
    assignment: Assignment | None = None if subscription is None else subscription.assignment
    return assignment


def set_option(consumer: AIOKafkaConsumer, name: str, value: Any) -> bool:
    """Set an option of a consumer that was not started; return False where it has none of that name."""
    if not hasattr(consumer, f"_{name}"):
        return False
    setattr(consumer, f"_{name}", value)
    return True
