"""What becomes of a position that the log of a partition does not have.

aiokafka then begins at the first record there is, without a word. In front of the log that means that records
were deleted before they were read; behind its end, that the brokers have lost records which were scored, or
that the topic is another one: new records would be taken for ones that were scored before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from streams.core.errors import StateError
from streams.kafka.patches.fetch_hook import Assignment, FetchStage


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
