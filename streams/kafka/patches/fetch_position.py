"""How far a consumer has read, transaction markers and aborted records included.

Offsets without a record may follow the last record of a partition: the markers that end transactions, and
what an aborted transaction wrote. No consumer processes those, so the offset after the last processed record
never reaches the end of the partition; the position of the fetch does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from aiokafka.structs import TopicPartition

# Faust has a class of its own for them: equal, but another type.
T = TypeVar("T", bound=TopicPartition)


def fetch_positions(consumer: Any, partitions: Iterable[T]) -> dict[T, int]:
    """Return the positions of those partitions of an ``AIOKafkaConsumer`` that have one.

    They are those after what its last poll returned; call it in the thread of the consumer.
    """
    subscription = consumer._subscription.subscription
    if subscription is None or subscription.assignment is None:
        return {}
    assignment = subscription.assignment
    found: dict[T, int] = {}
    for tp in partitions:
        if tp in assignment.tps and (state := assignment.state_value(tp)).has_valid_position:
            found[tp] = state.position
    return found
