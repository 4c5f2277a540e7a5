"""Where a fetch of aiokafka is taken part in: positions, ends, and what a log does not have.

The one place where a fetch of aiokafka is taken part in. aiokafka has no hook around a fetch. What Eddy needs
to know before and after one is a stage: a function that is called before the request, and returns what is to
be done after the answer.

When the end of a partition was where a consumer holds it to be. aiokafka notes the end with each answer to a
fetch, and the time at which it has read the answer. The answer may have waited: if the machine was suspended
meanwhile, an old end would count as the present one. What a broker reports was true after it was asked, so
the time of the request is on the safe side.

What becomes of a position that the log of a partition does not have. aiokafka then begins at the first record
there is, without a word. In front of the log that means that records were deleted before they were read;
behind its end, that the brokers have lost records which were scored, or that the topic is another one: new
records would be taken for ones that were scored before.

How far a consumer has read, transaction markers and aborted records included. Offsets without a record may
follow the last record of a partition: the markers that end transactions, and what an aborted transaction
wrote. No consumer processes those, so the offset after the last processed record never reaches the end of the
partition; the position of the fetch does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from streams.core.errors import StateError
from streams.kafka.clock import boot_time


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


def note_when_asked(asked: dict[TopicPartition, float]) -> FetchStage:
    """Return a stage that writes into ``asked`` when each end was asked for, by `boot_time`."""

    def stage(assignment: Assignment, positions: Mapping[TopicPartition, int]) -> Callable[[], None]:
        asked_at = boot_time()
        before = {tp: assignment.state_value(tp).timestamp for tp in positions}

        def note() -> None:
            # An answer that came too late for its partition is not taken, and the end stays what it was.
            asked.update(
                (tp, asked_at)
                for tp, timestamp in before.items()
                if assignment.active and assignment.state_value(tp).timestamp != timestamp
            )

        return note

    return stage


def notice_out_of_range(noticed: dict[TopicPartition, int]) -> FetchStage:
    """Return a stage that writes into ``noticed`` which positions the brokers do not have."""

    def stage(assignment: Assignment, positions: Mapping[TopicPartition, int]) -> Callable[[], None]:
        def notice() -> None:
            if assignment.active:
                noticed.update(
                    (tp, offset)
                    for tp, offset in positions.items()
                    if assignment.state_value(tp).awaiting_reset
                )

        return notice

    return stage


async def records_lost(consumer: AIOKafkaConsumer, tp: TopicPartition, position: int) -> int:
    """Return how many records were deleted before they were read.

    Raises:
        StateError: the position is behind the end of the log.
    """
    begin = (await consumer.beginning_offsets([tp]))[tp]
    if position <= begin:
        lost: int = begin - position
        return lost
    end = (await consumer.end_offsets([tp]))[tp]
    raise StateError(
        f"{tp.topic}[{tp.partition}] was read up to offset {position}, but holds {begin} to {end}: a broker "
        "has lost records that it had acknowledged (an unclean leader election, a lost disk), or the topic "
        "was deleted and created again. New records would get offsets that the state takes for scored. If a "
        "replica with the records can be brought back, do that; else score what the topic holds again: stop "
        "all workers, choose another EDDY_APPLICATION_ID, create its topics with `eddy topics apply`, and "
        "start them again."
    )


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
