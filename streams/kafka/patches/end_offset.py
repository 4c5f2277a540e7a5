"""When the end of a partition was where a consumer holds it to be.

aiokafka notes the end with each answer to a fetch, and the time at which it has read the answer. The answer
may have waited: if the machine was suspended meanwhile, an old end would count as the present one. What a
broker reports was true after it was asked, so the time of the request is on the safe side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aiokafka.structs import TopicPartition

from streams.kafka.clock import boot_time
from streams.kafka.patches.fetch_hook import Assignment, FetchStage


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
