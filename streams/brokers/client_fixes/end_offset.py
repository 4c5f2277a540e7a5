"""When the end of a partition was where a consumer holds it to be.

aiokafka takes note of the end with each answer to a fetch, and of the time it has read the answer. That may
have waited for it: where a machine was suspended meanwhile, an end of long ago would count as that of now.
What a broker says was so after it was asked, so the time of the question is on the safe side.
"""

from __future__ import annotations

from typing import Any

from aiokafka.structs import TopicPartition

from streams.brokers.clock import boot_time


def note_when_asked(consumer: Any) -> dict[TopicPartition, float]:
    """Return where a started consumer will write down when it asked for each end it has, by `boot_time`."""
    fetcher = consumer._fetcher  # noqa: SLF001 - aiokafka has no hook for this
    fetch = fetcher._proc_fetch_request  # noqa: SLF001
    asked: dict[TopicPartition, float] = {}

    async def fetch_and_note(assignment: Any, node_id: int, request: Any) -> Any:
        asked_at = boot_time()
        before = {
            tp: assignment.state_value(tp).timestamp
            for topic, partitions in request.topics
            for tp in [TopicPartition(topic, partition) for partition, *_ in partitions]
        }
        wakes = await fetch(assignment, node_id, request)
        # An answer that came too late for its partition is not taken, and the end stays what it was.
        asked.update(
            (tp, asked_at)
            for tp, timestamp in before.items()
            if assignment.active and assignment.state_value(tp).timestamp != timestamp
        )
        return wakes

    fetcher._proc_fetch_request = fetch_and_note  # noqa: SLF001
    return asked
