"""Following partitions from given offsets on, whatever happens to the brokers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Self

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

from streams.core.domain.unreadable import Unreadable
from streams.core.errors import InfrastructureError
from streams.kafka.connection import Connection
from streams.kafka.groupless import groupless_consumer
from streams.kafka.patches.careful_fetch import CarefulConsumer
from streams.kafka.patches.fetch_position import fetch_positions
from streams.kafka.readable import readable
from streams.kafka.stored import Stored

log = logging.getLogger(__name__)

_POLL_MS = 500
#: From each of a hundred partitions or more, so not as much as where one is read at a time.
_FETCH_BYTES = 1 << 20
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 10.0


class Tail:
    """An iterator over batches of (topic, record), without end. A batch may be empty. Close it after use.

    Brokers that go away are waited for: the iteration goes on from where it was, and repeats nothing.

    Attributes:
        positions: By topic and partition, the offset after what the batches so far held. It also passes what
            is no record: markers of transactions, and records that cannot be read.
        ends: By topic and partition, what the brokers reported as the end at the newest fetch.
        answered: By topic and partition, when the newest answer to a fetch of it came, ms since 1970.
        unreadable: What could not be read of the newest batch, with its topic and partition.
    """

    def __init__(
        self, connection: Connection, positions: Mapping[tuple[str, int], int], max_records: int
    ) -> None:
        self._connection = connection
        self._max_records = max_records
        self._opened: AbstractAsyncContextManager[CarefulConsumer] | None = None
        self._consumer: CarefulConsumer | None = None
        self._pause = _FIRST_PAUSE_SECONDS
        self.positions = dict(positions)
        self.ends: dict[tuple[str, int], int] = {}
        self.answered: dict[tuple[str, int], int] = {}
        self.unreadable: list[tuple[str, int, Unreadable]] = []

    def __aiter__(self) -> Self:
        """Return itself."""
        return self

    async def __anext__(self) -> list[tuple[str, Stored]]:
        """Return the next records, none if there are none for half a second.

        Raises:
            InfrastructureError: the brokers do not let this user read a topic.
        """
        self.unreadable = []
        if not self.positions:
            await asyncio.sleep(_POLL_MS / 1_000)
            return []
        try:
            consumer = self._consumer or await self._open()
            fetched: Mapping[TopicPartition, Sequence[Stored | Unreadable]] = await consumer.getmany(
                timeout_ms=_POLL_MS, max_records=self._max_records
            )
        except TopicAuthorizationFailedError as error:
            raise InfrastructureError(
                f"The brokers do not let this user read {error}. Allow Read and Describe on it."
            ) from error
        except (KafkaError, OSError) as error:
            await self._wait(error)
            return []
        self._pause = _FIRST_PAUSE_SECONDS
        return self._taken(consumer, fetched)

    def leave(self, topic: str, partition: int) -> None:
        """Read no more of a partition."""
        del self.positions[topic, partition]
        if self._consumer is not None:
            self._consumer.pause(TopicPartition(topic, partition))

    async def aclose(self) -> None:
        """Close the connection; the iteration may go on after it."""
        opened, self._opened, self._consumer = self._opened, None, None
        if opened is not None:
            await opened.__aexit__(None, None, None)

    async def _open(self) -> CarefulConsumer:
        opened = groupless_consumer(self._connection, fetch_bytes=_FETCH_BYTES)
        consumer = await opened.__aenter__()
        self._opened, self._consumer = opened, consumer
        consumer.assign([TopicPartition(*each) for each in self.positions])
        for (topic, partition), offset in self.positions.items():
            consumer.seek(TopicPartition(topic, partition), offset)
        return consumer

    async def _wait(self, error: Exception) -> None:
        if self._pause == _FIRST_PAUSE_SECONDS:
            log.warning("The brokers do not answer (%r). They are asked again until they do.", error)
        await self.aclose()
        await asyncio.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)

    def _taken(
        self, consumer: CarefulConsumer, fetched: Mapping[TopicPartition, Sequence[Stored | Unreadable]]
    ) -> list[tuple[str, Stored]]:
        batch: list[tuple[str, Stored]] = []
        for tp, records in fetched.items():
            if (tp.topic, tp.partition) not in self.positions:
                continue  # it was left
            batch += [(tp.topic, record) for record in readable(tp, fetched)]
            self.unreadable += [
                (tp.topic, tp.partition, record) for record in records if isinstance(record, Unreadable)
            ]
        tps = [TopicPartition(*each) for each in self.positions]
        for tp, position in fetch_positions(consumer, tps).items():
            self.positions[tp.topic, tp.partition] = position
            end = consumer.last_stable_offset(tp)
            if end is not None and end >= 0:
                self.ends[tp.topic, tp.partition] = end
            if (answered := consumer.last_poll_timestamp(tp)) is not None:
                self.answered[tp.topic, tp.partition] = answered
        return batch
