"""Publishing by the batch: what an epoch writes to a topic partition fills as few requests as it can."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError, KafkaError
from aiokafka.producer.message_accumulator import BatchBuilder
from faust.transport.drivers.aiokafka import Producer

from streams.core.domain.record import Row
from streams.core.errors import EddyError, InfrastructureError, ProducerFencedError
from streams.kafka.patches.leased_sender import LeasedSender, LeaseEndedError
from streams.kafka.patches.producing import allow_several_in_flight, open_batch, uncompressed_batch
from streams.kafka.patches.redating import NO_TIMESTAMP, Redating
from streams.worker.faust.job_app import job_app

#: The backoff of a transactional client, between attempts while the predecessor's transaction ends.
_RETRY_BACKOFF_MS = 20

#: Batches with fewer bytes of values are not compressed: zstd takes 25 µs and more for each, however small.
_COMPRESSED_FROM_BYTES = 1_000


class WrittenBatch(NamedTuple):
    """A batch in the log: its records, the offset of the last one, and the broker's time of it (ms).

    The time is None where the topic goes by that of the records (`message.timestamp.type=CreateTime`).
    """

    records: int
    offset: int
    appended_ms: int | None


@dataclass(frozen=True, slots=True)
class SentBatches:
    """Batches on their way to one topic partition; await `acknowledged`."""

    topic: str
    partition: int
    futures: tuple[asyncio.Future[Any], ...]
    counts: tuple[int, ...]

    async def acknowledged(self) -> int:
        """Wait for the broker and return the offset of the last record.

        Raises:
            InfrastructureError: the broker refused or did not answer in time.
            ProducerFencedError: the lease of this worker ended before.
        """
        return (await self.written())[-1].offset

    async def written(self) -> list[WrittenBatch]:
        """Wait for the broker and return where the batches stand.

        Raises:
            InfrastructureError: as `acknowledged` does.
            ProducerFencedError: as `acknowledged` does.
        """
        await all_acknowledged([self])
        found = []
        for future, count in zip(self.futures, self.counts, strict=True):
            answer = future.result()
            # The broker reports the offset of the first record of the batch, and -1 where it has no time.
            appended_ms = None if answer.timestamp == NO_TIMESTAMP else answer.timestamp
            found.append(WrittenBatch(count, answer.offset + count - 1, appended_ms))
        return found


async def all_acknowledged(sent: Sequence[SentBatches]) -> None:
    """Wait until every batch is acknowledged or has failed.

    Raises:
        InfrastructureError: that of the first that failed.
        ProducerFencedError: that of the first that failed, where it was the lease of this worker that ended.
    """
    # One wait for all: each further task is another turn of a busy event loop.
    pending = [future for batches in sent for future in batches.futures if not future.done()]
    if pending:
        await asyncio.wait(pending)
    for batches in sent:
        for future in batches.futures:
            if (error := future.exception()) is not None:
                if isinstance(error, KafkaError):
                    raise _failed(batches.topic, batches.partition, error) from error
                raise error


class RunProducer(Producer):
    """Faust's aiokafka producer with batches built by the caller and idempotence switched on."""

    def _settings_extra(self) -> Mapping[str, Any]:
        return {**super()._settings_extra(), **job_app(self.app).options.transport.producer}

    def _new_producer(self, transactional_id: str | None = None) -> AIOKafkaProducer:
        client = super()._new_producer(transactional_id)
        allow_several_in_flight(client)
        app = job_app(self.app)
        redating = self._redating(client)
        if app.options.transactions is None:
            LeasedSender(client, redating, app.lease)
        return client

    def _redating(self, client: AIOKafkaProducer) -> Redating:
        app = job_app(self.app)
        return Redating(client, app.clock.now_ms, app.metrics.redated)

    async def create_topic(self, topic: str, *args: Any, **kwargs: Any) -> None:
        """Do nothing: `eddy topics apply` creates the topics, and the app checks them at start."""

    async def publish(self, topic: str, partition: int, records: Iterable[Row]) -> SentBatches:
        """Hand ``records`` to the client in order; returns once they are queued.

        Raises:
            InfrastructureError: the client cannot take them.
            ProducerFencedError: the lease of this worker has ended.
        """
        return await publish(self._ensure_producer(), topic, partition, records)

    def new_transactional(self, transactional_id: str, timeout_ms: int) -> AIOKafkaProducer:
        """Return a client of its own with a transactional id, not started.

        Args:
            transactional_id: Who starts another one under it shuts this one out.
            timeout_ms: A transaction that is open for so long is aborted by the broker.
        """
        options = {**self._settings_default(), **self._settings_auth(), **self._settings_extra()}
        client = AIOKafkaProducer(
            **{**options, "acks": "all", "enable_idempotence": True},
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            retry_backoff_ms=_RETRY_BACKOFF_MS,
        )
        self._redating(client)
        return client

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


async def publish(
    client: AIOKafkaProducer, topic: str, partition: int, records: Iterable[Row]
) -> SentBatches:
    """Hand ``records`` to a client in order; returns once they are queued.

    Raises:
        InfrastructureError: the client cannot take them.
        ProducerFencedError: the lease of this worker has ended.
    """
    rows = list(records)
    futures: list[asyncio.Future[Any]] = []
    counts: list[int] = []
    try:
        batch, future = batch_for(client, topic, partition, rows)
        for key, value, timestamp, headers in rows:
            if batch.append(key=key, value=value, timestamp=timestamp, headers=headers) is None:
                counts.append(batch.record_count())
                futures.append(future or await client.send_batch(batch, topic, partition=partition))
                batch, future = client.create_batch(), None
                batch.append(key=key, value=value, timestamp=timestamp, headers=headers)
        if rows:
            counts.append(batch.record_count())
            futures.append(future or await client.send_batch(batch, topic, partition=partition))
    except KafkaError as error:
        raise _failed(topic, partition, error) from error
    for future in futures:
        future.add_done_callback(_look)
    return SentBatches(topic, partition, tuple(futures), tuple(counts))


def _look(future: asyncio.Future[Any]) -> None:
    """Keep asyncio from logging an error that no code awaits: an earlier one has ended the epoch."""
    if not future.cancelled():
        future.exception()


def batch_for(
    client: AIOKafkaProducer, topic: str, partition: int, rows: Sequence[Row]
) -> tuple[BatchBuilder, asyncio.Future[Any] | None]:
    """Return a batch to append ``rows`` to, and its future where it is waiting to be sent already.

    aiokafka sends one batch at a time to a topic partition, and `send_batch` waits until the one before has
    left. Where many write to the same partition, each would wait for all the others, in the end for longer
    than aiokafka lets it.
    """
    if (waiting := open_batch(client, topic, partition)) is not None:
        return waiting
    if sum([len(value) for _, value, _, _ in rows if value is not None]) >= _COMPRESSED_FROM_BYTES:
        return client.create_batch(), None
    return uncompressed_batch(client), None


def _failed(topic: str, partition: int, error: KafkaError) -> EddyError:
    if isinstance(error, LeaseEndedError):
        return ProducerFencedError(f"The lease ended before all was published to {topic}[{partition}].")
    if isinstance(error, InvalidTimestampError):
        return InfrastructureError(
            f"{topic}[{partition}] refuses every Kafka timestamp: that of the record, the time of writing, "
            "and none. The run was not acknowledged. Check the clocks (NTP) of this machine and of the "
            "brokers, and message.timestamp.type, message.timestamp.before.max.ms and "
            f"message.timestamp.after.max.ms of {topic}, then restart: the run is processed again."
        )
    return InfrastructureError(
        f"Publishing to {topic}[{partition}] failed: {error!r}. The run was not acknowledged; "
        "check the "
        "brokers and the topic's max.message.bytes, then restart: the run is processed again."
    )
