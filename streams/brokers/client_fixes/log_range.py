"""What becomes of a position that the log of a partition does not have.

aiokafka then begins at the first record there is, without a word. In front of the log that means that records
were deleted before they were read; behind its end, that the brokers have lost records which were scored, or
that the topic is another one: new records would be taken for ones that were scored before.
"""

from __future__ import annotations

from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from streams.errors import StateError


def notice_out_of_range(consumer: Any) -> dict[TopicPartition, int]:
    """Return where a started ``AIOKafkaConsumer`` will write down positions that brokers do not have."""
    fetcher = consumer._fetcher  # noqa: SLF001 - aiokafka has no hook for this
    fetch = fetcher._proc_fetch_request  # noqa: SLF001
    noticed: dict[TopicPartition, int] = {}

    async def fetch_and_notice(assignment: Any, node_id: int, request: Any) -> Any:
        wakes = await fetch(assignment, node_id, request)
        if assignment.active:
            for topic, partitions in request.topics:
                for partition, offset, _ in partitions:
                    tp = TopicPartition(topic, partition)
                    if assignment.state_value(tp).awaiting_reset:
                        noticed[tp] = offset
        return wakes

    fetcher._proc_fetch_request = fetch_and_notice  # noqa: SLF001
    return noticed


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
        "replica with the records can be brought back, do that; else score what the topic holds anew: stop "
        "all workers, choose another EDDY_APPLICATION_ID, create its topics with `eddy topics apply`, and "
        "start them again."
    )
