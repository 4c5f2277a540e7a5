"""A worker on Apache Kafka that many cases attack one after another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import for_code
from aiokafka.protocol.produce import ProduceRequest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import Stored, connect
from streams.kafka.connection import Connection
from tests.integration.apache_kafka import ApacheKafka
from tests.integration.load import as_json, decision
from tests.integration.reference_fold import value_of
from tests.integration.stage import Stage, prepared
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until
from tests.unit.schemas.fake_registry import FakeRegistry

#: All cases share one: what stops it stops everything behind it.
PARTITION = 0

_PRODUCE_MS = 30_000


class Ground:
    """What a case can do, and see.

    Attributes:
        broker: Runs; a case may look into its files.
        stage: For commands, and other workers.
        worker: The one under attack.
        registry: The schema registry that it asks.
        letters: The dead letters so far, by the offset of their message.
        judged: The offsets that were judged so far.
        covered: The offsets for which the letter of another one stands.
    """

    def __init__(
        self, broker: ApacheKafka, stage: Stage, worker: WorkerProcess, registry: FakeRegistry
    ) -> None:
        self.broker = broker
        self.stage = stage
        self.worker = worker
        self.registry = registry
        self.letters: dict[int, Stored] = {}
        self.judged: set[int] = set()
        self.covered: set[int] = set()
        self._producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, acks="all")
        self._client = AIOKafkaClient(bootstrap_servers=broker.bootstrap)

    # -- what goes in -------------------------------------------------------------------------------------

    async def send(self, *records: Outgoing, topic: str = Topic.DECISION_LOGS) -> list[int]:
        """Send records as producers do; return their offsets."""
        sent = [
            await self._producer.send(
                topic,
                value=record.value,
                key=record.key,
                partition=PARTITION,
                timestamp_ms=record.timestamp,
                headers=record.headers,
            )
            for record in records
        ]
        return [metadata.offset for metadata in await asyncio.gather(*sent)]

    async def produce(self, batch: bytes, topic: str = Topic.DECISION_LOGS) -> int:
        """Send a batch as it is; return the offset of its first record.

        Raises:
            KafkaError: the broker refuses it.
        """
        await self._client._wait_on_metadata(topic)
        leader = self._client.cluster.leader_for_partition(TopicPartition(topic, PARTITION))
        request = ProduceRequest(
            required_acks=-1,
            timeout=_PRODUCE_MS,
            topics=[(topic, [(PARTITION, batch)])],
            transactional_id=None,
        )
        response = await self._client.send(leader, request)
        ((_, ((_, code, offset, *said),)),) = response.topics
        if code:
            raise for_code(code)(str(said[-1]))
        return int(offset)

    async def send_good(self, session: str, number: int) -> int:
        """Send an ordinary record of a session; return its offset."""
        value = decision(session, number)
        (offset,) = await self.send(Outgoing(session.encode(), as_json(value), value["meta"]["timestamp"]))
        return offset

    async def configure(self, topics: Iterable[str], entries: Mapping[str, str | None]) -> None:
        """Set config entries of topics, see the function of that name."""
        await configure(self.broker, topics, entries)

    # -- what comes out -----------------------------------------------------------------------------------

    def unaccounted(self, first: int, last: int) -> set[int]:
        """Return the offsets of which there is neither a judgement nor a dead letter."""
        return set(range(first, last + 1)) - self.judged - self.letters.keys() - self.covered

    async def accounted(self, first: int, last: int) -> None:
        """Wait until every record from ``first`` to ``last`` has been judged or set aside."""
        await until(
            lambda: not self.unaccounted(first, last),
            PATIENCE_SECONDS,
            f"a judgement or a letter of each record from {first} to {last}",
            self.worker,
        )

    def peak_memory(self) -> int:
        """Return how many bytes of memory the worker ever had at once."""
        below = psutil.Process(self.worker._child._guard.pid).children(recursive=True)
        found = [Path(f"/proc/{process.pid}/status").read_text() for process in below]
        return max(1024 * int(text.split("VmHWM:")[1].split()[0]) for text in found)

    async def _follow(self) -> None:
        async with connect(Connection(self.broker.bootstrap)) as brokers:
            async for topic, stored in brokers.follow([Topic.ENRICHED, Topic.DEAD_LETTERS]):
                if topic == Topic.ENRICHED:
                    self.judged.add(int(value_of(stored)["eddy"]["id"].split("/")[-2]))
                else:
                    self._take(stored)

    def _take(self, letter: Stored) -> None:
        said: dict[str, Any] = dict(letter.headers)
        if offsets := said.get("x-dlq-offsets"):
            first, last = map(int, offsets.split(b"-"))
            self.covered.update(range(first + 1, last + 1))
        self.letters[int(said["__streams.errors.offset"])] = letter

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[Ground]:
        """Connect, and follow what the worker publishes for as long as the block lasts."""
        await self._client.bootstrap()
        await self._producer.start()
        following = asyncio.create_task(self._follow())
        try:
            yield self
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
            await self._producer.stop()
            await self._client.close()


async def configure(broker: ApacheKafka, topics: Iterable[str], entries: Mapping[str, str | None]) -> None:
    """Set config entries of topics; None takes the topic's own away again."""
    wanted = [
        ConfigResource(
            ResourceType.TOPIC,
            str(topic),
            incremental_configs=[
                ConfigEntry(
                    name,
                    value or "",
                    incremental_operation=AlterConfigOpType.DELETE
                    if value is None
                    else AlterConfigOpType.SET,
                )
                for name, value in entries.items()
            ],
        )
        for topic in topics
    ]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
    for altered in admin.incremental_alter_configs(wanted, request_timeout=PATIENCE_SECONDS).values():
        await asyncio.to_thread(altered.result, PATIENCE_SECONDS)


@asynccontextmanager
async def prepared_ground(directory: Path, guarantee: str) -> AsyncIterator[Ground]:
    """Start Apache Kafka, a schema registry, and a worker with this guarantee between them."""
    (data := directory / "broker").mkdir()
    registry = FakeRegistry()
    with ApacheKafka(data) as broker:
        stage = Stage(broker, directory, application_id="eddy", partitions=1)
        async with registry.serve() as url, prepared(stage):
            await configure(broker, [Topic.DECISION_LOGS], {"max.message.bytes": str(8 << 20)})
            worker = stage.worker(
                schema_registry_url=url, output_format="json", processing_guarantee=guarantee
            )
            async with Ground(broker, stage, worker, registry).watched() as ground:
                await worker.ready()
                yield ground
