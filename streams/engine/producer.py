"""Publishing by the batch: what an epoch writes to a topic partition fills as few requests as it can."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiokafka.errors import KafkaError
from faust.transport.drivers.aiokafka import Producer

from streams.domain.outgoing import Row
from streams.errors import InfrastructureError


@dataclass(frozen=True, slots=True)
class Sent:
    """Batches on their way to one topic partition; await `acknowledged`."""

    topic: str
    partition: int
    futures: tuple[asyncio.Future[Any], ...]
    counts: tuple[int, ...]

    async def acknowledged(self) -> int:
        """Wait for the broker and return the offset of the last record.

        Raises:
            InfrastructureError: the broker refused or did not answer in time.
        """
        try:
            metadata = (await asyncio.gather(*self.futures))[-1]
        except KafkaError as error:
            raise _failed(self.topic, self.partition, error) from error
        # The broker reports the offset of the first record of the batch.
        offset: int = metadata.offset + self.counts[-1] - 1
        return offset


async def all_acknowledged(sent: Sequence[Sent]) -> None:
    """Wait until every batch is acknowledged or has failed.

    Raises:
        InfrastructureError: that of the first that failed.
    """
    outcomes = await asyncio.gather(*(batches.acknowledged() for batches in sent), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


class RunProducer(Producer):
    """Faust's aiokafka producer with batches built by the caller and idempotence switched on."""

    def _settings_extra(self) -> Mapping[str, Any]:
        app: Any = self.app
        return {**super()._settings_extra(), **app.transport_options.producer}

    async def create_topic(self, topic: str, *args: Any, **kwargs: Any) -> None:
        """Do nothing: `eddy topics apply` creates the topics, and the app checks them at start."""

    async def publish(self, topic: str, partition: int, records: Iterable[Row]) -> Sent:
        """Hand ``records`` to the client in order; returns once they are queued.

        Raises:
            InfrastructureError: the client cannot take them.
        """
        producer = self._ensure_producer()
        futures: list[asyncio.Future[Any]] = []
        counts: list[int] = []
        batch = producer.create_batch()
        try:
            for key, value, timestamp, headers in records:
                if batch.append(key=key, value=value, timestamp=timestamp, headers=headers) is None:
                    counts.append(batch.record_count())
                    futures.append(await producer.send_batch(batch, topic, partition=partition))
                    batch = producer.create_batch()
                    batch.append(key=key, value=value, timestamp=timestamp, headers=headers)
            if (count := batch.record_count()) > 0:
                counts.append(count)
                futures.append(await producer.send_batch(batch, topic, partition=partition))
        except KafkaError as error:
            raise _failed(topic, partition, error) from error
        return Sent(topic, partition, tuple(futures), tuple(counts))

    async def partition_count(self, topic: str) -> int:
        """Return how many partitions ``topic`` has.

        Raises:
            InfrastructureError: the broker does not know the topic.
        """
        try:
            found = await self._ensure_producer().partitions_for(topic)
        except KafkaError as error:
            raise InfrastructureError(
                f"Topic {topic} cannot be looked up ({error!r}). Check the brokers, and create the topics "
                "with `eddy topics apply`."
            ) from error
        return len(found)


def _failed(topic: str, partition: int, error: KafkaError) -> InfrastructureError:
    return InfrastructureError(
        f"Publishing to {topic}[{partition}] failed: {error!r}. The run was not acknowledged; "
        "check the "
        "brokers and the topic's max.message.bytes, then restart: the run is processed again."
    )
