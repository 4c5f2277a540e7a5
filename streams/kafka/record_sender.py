"""Sends records to a topic, each when all replicas have it, and connects again after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    KafkaError,
    MessageSizeTooLargeError,
    RecordTooLargeError,
)

from streams.core.domain.record import Outgoing
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.connection import Connection
from streams.kafka.patches.redating import Redating

_LARGEST_REQUEST = 16 << 20
WITHIN_SECONDS = 30.0
"""For how long a record is tried before `RecordSender.send` gives it back."""


class RecordSender:
    """A producer that chooses partitions by key as Kafka's own clients do.

    Args:
        connection: How to reach the brokers.
        topic: Where the records go.
        idempotent: Off only for brokers that do not know it.
        within_s: How long to try.
    """

    def __init__(
        self, connection: Connection, topic: str, *, idempotent: bool, within_s: float = WITHIN_SECONDS
    ) -> None:
        self.topic = topic
        self._connection = connection
        self._idempotent = idempotent
        self._within_ms = round(within_s * 1000)
        self._producer: AIOKafkaProducer | None = None

    async def send(self, records: Sequence[Outgoing]) -> None:
        """Send records in their order, and return when the brokers have all of them.

        Raises:
            InfrastructureError: the brokers cannot be reached, or do not take them now. Some may be there.
            ConfigurationError: a record is larger than the topic allows.
        """
        try:
            producer = await self._started()
            futures = [
                await producer.send(self.topic, value=each.value, key=each.key, headers=each.headers)
                for each in records
            ]
            # Until each is settled: what is given back must not arrive behind what is sent next.
            for result in await asyncio.gather(*futures, return_exceptions=True):
                if isinstance(result, BaseException):
                    raise result
        except (MessageSizeTooLargeError, RecordTooLargeError) as error:
            raise ConfigurationError(
                f"{self.topic} takes no record as large as one of these ({error}). Raise max.message.bytes"
            ) from error
        except (KafkaError, OSError) as error:
            await self.close()
            raise InfrastructureError(
                f"{self._connection.bootstrap_servers} takes no records for {self.topic} "
                f"({type(error).__name__}). Check the brokers, EDDY_BOOTSTRAP_SERVERS, and that the topic "
                "exists."
            ) from error

    async def close(self) -> None:
        """Close the connection; the next `send` opens another one."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()

    async def _started(self) -> AIOKafkaProducer:
        if self._producer is None:
            producer = AIOKafkaProducer(
                **self._connection.client_options(),
                acks="all",
                enable_idempotence=self._idempotent,
                max_request_size=_LARGEST_REQUEST,
                request_timeout_ms=self._within_ms,
            )
            Redating(producer)
            self._producer = producer
            await producer.start()
        return self._producer
