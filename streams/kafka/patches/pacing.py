"""Some partitions read only so often, so that their records do not wake the consumer each time.

A fetch is answered as soon as one partition has a record. What an epoch writes to a topic that the same
consumer reads would answer the next fetch, with a record or two, and be delivered by itself. Reading it a few
times a second costs a few deliveries instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition


class Pacing:
    """Pauses partitions of some topics after each poll that returned records of them.

    A partition without news is not paused: its next record comes at once. Nothing is fetched in vain: a
    partition is paused only when all that was fetched of it is taken.

    Args:
        consumer: A started one; to be used in its event loop.
        pauses: The topics, and how long a partition of each is paused, seconds.
    """

    def __init__(self, consumer: AIOKafkaConsumer, pauses: Mapping[str, float]) -> None:
        self._consumer = consumer
        self._pauses = {topic: pause for topic, pause in pauses.items() if pause > 0}

    def polled(self, returned: Iterable[TopicPartition]) -> None:
        """Take note of a poll: which partitions it returned records of. Nothing may be awaited in between."""
        for tp in returned:
            pause = self._pauses.get(tp.topic)
            # What is still buffered of a paused partition would be dropped, and fetched again.
            if pause is None or tp in self._consumer._fetcher._records:
                continue
            # Faust has a class of its own, which aiokafka does not take.
            read = TopicPartition(tp.topic, tp.partition)
            if self._is_assigned(read):
                self._consumer.pause(read)
                asyncio.get_running_loop().call_later(pause, self._resume, read)

    def _resume(self, read: TopicPartition) -> None:
        if self._is_assigned(read):
            self._consumer.resume(read)

    def _is_assigned(self, read: TopicPartition) -> bool:
        return read in self._consumer.assignment()
