"""The broker everybody is measured on, and what the benchmark itself does with it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from benchmarks.stages import Input
from streams.cli.topics import compare
from streams.core.domain.topic import OUTPUTS
from streams.kafka.embedded.embedded import EmbeddedBroker
from streams.observe.settings import TopicSettings, load

# Both compilers: the broker is there to be quick, and lives for minutes.
_JAVA_OPTIONS = ("-Xms1g", "-Xmx1g")
_SETTINGS: dict[str, Any] = {"replicas": 1}


@contextlib.contextmanager
def running(kind: str) -> Iterator[Any]:
    """Run a broker: ``kafka`` (Apache Kafka, one node) or ``embedded``."""
    if kind == "embedded":
        with EmbeddedBroker() as embedded:
            yield embedded
        return
    from tests.integration.apache_kafka import ApacheKafka  # noqa: PLC0415 - only this kind needs Java

    with (
        tempfile.TemporaryDirectory(prefix="eddy-bench-kafka-", ignore_cleanup_errors=True) as directory,
        ApacheKafka(Path(directory), java_options=_JAVA_OPTIONS) as kafka,
    ):
        yield kafka


async def provision(bootstrap: str, application_id: str, partitions: int) -> None:
    """Create the topics of an application, its changelog included, as `eddy topics apply` does."""
    settings = load(
        TopicSettings,
        bootstrap_servers=bootstrap,
        application_id=application_id,
        partitions=partitions,
        **_SETTINGS,
    )
    await compare(settings, carry_out=True)


class Client:
    """The benchmark's own connection: ends of partitions, backlogs in, outputs out."""

    def __init__(self, bootstrap: str, partitions: int, kind: str) -> None:
        self.bootstrap = bootstrap
        self.partitions = partitions
        self.kind = kind
        self._consumer: AIOKafkaConsumer

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Client]:
        """Connect."""
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=20
        )
        async with self._consumer:
            yield self

    def of(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic keyed by session."""
        return [TopicPartition(topic, partition) for partition in range(self.partitions)]

    async def ends(self, topic: str) -> dict[int, int]:
        """Return where the partitions of a topic end."""
        found = await self._consumer.end_offsets(self.of(topic))
        if self.kind == "embedded":
            found = await self._past(found)
        return {tp.partition: end for tp, end in found.items()}

    async def _past(self, ends: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the real ends: the embedded broker gives the start of the last batch plus one."""
        consumer = self._consumer
        consumer.assign(list(ends))
        for tp, end in ends.items():
            consumer.seek(tp, end)
        while any(consumer.highwater(tp) is None for tp in ends):
            await consumer.getmany(*ends, timeout_ms=20)
        return {tp: max(end, consumer.highwater(tp) or 0) for tp, end in ends.items()}

    async def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Let a group that has no members begin at ``offsets``."""
        async with AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, group_id=group, enable_auto_commit=False
        ) as consumer:
            consumer.assign(self.of(topic))
            await consumer.commit(
                {TopicPartition(topic, p): OffsetAndMetadata(offset, "") for p, offset in offsets.items()}
            )

    async def write(
        self, topic: str, records: Mapping[int, Sequence[Input]], compression: str | None = None
    ) -> None:
        """Append records, as they are, to their partitions."""
        async with AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
            acks="all",
            max_batch_size=256 << 10,
            max_request_size=16 << 20,
            compression_type=compression,
        ) as producer:
            for partition, inputs in records.items():
                batch = producer.create_batch()
                for record in inputs:
                    fields = {"key": record.key, "value": record.value, "timestamp": record.timestamp}
                    if batch.append(**fields) is None:
                        await producer.send_batch(batch, topic, partition=partition)
                        batch = producer.create_batch()
                        batch.append(**fields)
                if batch.record_count():
                    await producer.send_batch(batch, topic, partition=partition)
            await producer.flush()

    async def read(self, topic: str, since: Mapping[int, int]) -> dict[int, list[tuple[bytes, bytes]]]:
        """Return (key, value) of everything after ``since``."""
        ends = await self.ends(topic)
        found: dict[int, list[tuple[bytes, bytes]]] = {partition: [] for partition in ends}
        partitions = [tp for tp in self.of(topic) if ends[tp.partition] > since[tp.partition]]
        if not partitions:
            return found
        async with AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, max_partition_fetch_bytes=4 << 20, enable_auto_commit=False
        ) as consumer:
            consumer.assign(partitions)
            for tp in partitions:
                consumer.seek(tp, since[tp.partition])
            while True:
                left = [tp for tp in partitions if await consumer.position(tp) < ends[tp.partition]]
                if not left:
                    return found
                for tp, messages in (await consumer.getmany(*left, timeout_ms=1000)).items():
                    found[tp.partition] += [(message.key, message.value) for message in messages]


OUTPUT_TOPICS = tuple(map(str, OUTPUTS))
