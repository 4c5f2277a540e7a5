"""Where the reading of a partition begins that the group has no offset of."""

from __future__ import annotations

import logging

from streams.alerts.memory import ProgressTopics, SinkOffsets
from streams.alerts.settings import NotifySettings
from streams.kafka.client import Brokers
from streams.kafka.connection import Connection
from streams.kafka.survey import ends

log = logging.getLogger(__name__)


class Beginning:
    """Decides for one group.

    A group that is new begins where the settings say. If the topic gets more partitions later, nothing there
    is older than the group, so those are read from their start.

    Args:
        settings: As read at start.
        connection: How to reach the brokers.
        brokers: Connected to the same.
        memory: What the group remembers.
        topic: The topic, as it is called on these brokers.
    """

    def __init__(
        self,
        settings: NotifySettings,
        connection: Connection,
        brokers: Brokers,
        memory: ProgressTopics,
        topic: str,
    ) -> None:
        self._settings = settings
        self._connection = connection
        self._brokers = brokers
        self._memory = memory
        self._topic = topic

    async def marks(self, partition: int, known: SinkOffsets | None) -> SinkOffsets:
        """Return the first marks of a partition.

        Args:
            partition: The group has no offset of it.
            known: What the group remembers of it; None if it never read it.

        Raises:
            InfrastructureError: the brokers do not answer.
        """
        if known is not None:
            start = await self._start(partition)
            log.warning(
                "The brokers have forgotten how far %s was in %s[%s], as they do with a group that was away "
                "for longer than their offsets.retention.minutes. It begins at offset %s and "
                "sends no alert from before.",
                self._settings.group,
                self._topic,
                partition,
                start,
            )
            return SinkOffsets(start, {}, partitions=known.partitions or await self.partitions())
        first = await self._memory.load(0) if partition else None
        if first is not None and first.partitions is not None and first.partitions <= partition:
            log.info("%s[%s] is new: its alerts are sent from its first one on.", self._topic, partition)
            return SinkOffsets(0, {}, partitions=first.partitions)
        return SinkOffsets(await self._start(partition), {}, partitions=await self.partitions())

    async def partitions(self) -> int:
        """Return how many partitions the topic has.

        Raises:
            InfrastructureError: the brokers do not answer.
        """
        count, _ = (await self._brokers.layout([self._topic]))[self._topic]
        return count

    async def _start(self, partition: int) -> int:
        if self._settings.notify_from == "earliest":
            return 0
        found = await ends(self._connection, {self._topic: partition + 1})
        return found[self._topic, partition].end
