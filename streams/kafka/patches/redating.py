"""Records whose Kafka timestamp their topic refuses are sent again with one that it takes.

An output has the Kafka timestamp of its input record. Its topic may refuse that and the whole batch with it
(`message.timestamp.before.max.ms`, `message.timestamp.after.max.ms`), at each attempt, start after start. The
clock of the broker decides, and no worker can read that before. So the refusal itself is the test:

    first       the records that the broker names get the time of writing
    again       the clock of this machine is wrong: they get no timestamp, which Kafka always takes
    once more   the batch fails

The other records of the batch keep their timestamps. aiokafka sends one batch at a time to a partition, and a
refused one has used none of its sequence numbers: order and idempotence are as with any other retry.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import InvalidTimestampError
from aiokafka.producer.message_accumulator import MessageBatch
from aiokafka.producer.sender import SendProduceReqHandler
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from streams.kafka.clock import now_ms

#: What Kafka takes for a record without a timestamp.
NO_TIMESTAMP = -1

#: From this version on an answer names the records that it refuses.
_NAMES_RECORDS = 8

#: Whatever its size was, it has been taken once.
_ANY_SIZE = 1 << 30

log = logging.getLogger(__name__)


class Redating:
    """Gives the batches of a producer other timestamps where theirs are refused.

    Args:
        producer: A producer that is not started yet.
        clock_ms: The time, ms since 1970.
        report: Told the topic and how many records of it get another timestamp.
    """

    def __init__(
        self,
        producer: AIOKafkaProducer,
        clock_ms: Callable[[], int] = now_ms,
        report: Callable[[str, int], None] = lambda _topic, _records: None,
    ) -> None:
        self._sender: Any = producer._sender
        self._clock_ms = clock_ms
        self._report = report
        self._warned: set[str] = set()
        self._refused: WeakKeyDictionary[MessageBatch, int] = WeakKeyDictionary()
        self._sender._send_produce_req = self.send

    async def send(self, node_id: int, batches: Mapping[TopicPartition, MessageBatch]) -> None:
        """Send a request, as aiokafka's sender does."""
        await self.finish(node_id, batches, RedatingRequest(self._sender, batches, self))

    async def finish(self, node_id: int, batches: Collection[TopicPartition], request: Any) -> None:
        """Carry a request out, and let the next one of these partitions go."""
        await request.do(node_id)
        self._sender._in_flight.remove(node_id)
        for tp in batches:
            self._sender._muted_partitions.remove(tp)

    def redate(self, batch: MessageBatch, refused: Collection[int]) -> bool:
        """Give the refused records of a batch another timestamp; False where that was in vain before.

        Args:
            batch: The batch that the broker refused.
            refused: Which of its records, by their number; none where the broker does not say which.
        """
        attempt = self._refused[batch] = self._refused.get(batch, 0) + 1
        if attempt > 2:
            return False
        timestamp = self._clock_ms() if attempt == 1 else NO_TIMESTAMP
        topic, count = batch.tp.topic, len(refused) or batch.record_count
        batch._builder._buffer = redated(bytes(batch.get_data_buffer()), timestamp, refused)
        if attempt == 1:
            self._report(topic, count)
            self._warn(topic)
        return True

    def _warn(self, topic: str) -> None:
        if topic not in self._warned:
            self._warned.add(topic)
            log.warning(
                "%s refuses the Kafka timestamp of some records: message.timestamp.before.max.ms or "
                "message.timestamp.after.max.ms, by its brokers' clocks. They get the time of writing; their "
                "values do not change. To keep the timestamps, raise these limits of the topic. If the "
                "records are new, check the clocks (NTP) of producers, workers and brokers.",
                topic,
            )


class RedatingRequest(SendProduceReqHandler):  # type: ignore[misc]
    """A produce request that sends again, at once, what is refused for its timestamps."""

    def __init__(
        self, sender: Any, batches: Mapping[TopicPartition, MessageBatch], redating: Redating
    ) -> None:
        super().__init__(sender, dict(batches))
        self._redating = redating
        self._redated: list[MessageBatch] = []

    async def do(self, node_id: int) -> None:
        """Send the request, and put back what has other timestamps now."""
        await super().do(node_id)
        for batch in self._redated:
            self._sender._message_accumulator.reenqueue(batch)

    def handle_response(self, response: Any) -> None:
        """Take the batches out that are refused for their timestamps; aiokafka would fail them."""
        for topic, partitions in response.topics:
            for partition, code, *rest in partitions:
                if code != InvalidTimestampError.errno:
                    continue
                tp = TopicPartition(topic, partition)
                named = rest[3] if response.API_VERSION >= _NAMES_RECORDS else ()
                batch = self._batches.get(tp)
                if batch is not None and self._redating.redate(batch, {number for number, _ in named}):
                    del self._batches[tp]
                    self._redated.append(batch)
        super().handle_response(response)


def redated(batch: bytes, timestamp: int, chosen: Collection[int]) -> bytes:
    """Return a batch with another timestamp at the chosen records, at all of them where none is chosen.

    aiokafka gives a record without a timestamp that begins a batch the timestamp of the next one.
    """
    read = DefaultRecordBatch(batch)
    made = DefaultRecordBatchBuilder(
        2,
        read.compression_type,
        is_transactional=read.is_transactional,
        producer_id=read.producer_id,
        producer_epoch=read.producer_epoch,
        base_sequence=read.base_sequence,
        batch_size=_ANY_SIZE,
    )
    for number, record in enumerate(read):
        kept = record.timestamp if chosen and number not in chosen else timestamp
        made.append(number, kept, record.key, record.value, record.headers)
    return bytes(made.build())
