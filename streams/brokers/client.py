"""What the tools need of the brokers: describe and change topics, read and write a few records."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    InvalidConfigurationError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    KafkaError,
    PolicyViolationError,
    TopicAlreadyExistsError,
    for_code,
)
from aiokafka.partitioner import murmur2

from streams.brokers.client_fixes.admin_client import admin_client
from streams.brokers.client_fixes.careful_fetch import CarefulConsumer
from streams.brokers.client_fixes.redating import Redating
from streams.brokers.connection import READ_COMMITTED, Connection
from streams.brokers.readable import readable
from streams.brokers.refusal import refusal
from streams.brokers.stored import Stored as Stored  # noqa: PLC0414 - what this module returns
from streams.brokers.topic_identity import topic_ids
from streams.domain.outgoing import Outgoing
from streams.errors import ConfigurationError, InfrastructureError
from topics.catalogue import TopicSpec
from topics.plan import ActualTopic, AddPartitions, AlterConfig, Change, CreateTopic, Refused

log = logging.getLogger(__name__)

_POLL_MS = 500

_SPREAD_SECONDS = 60.0
_SPREAD_POLL_SECONDS = 0.05

#: What to do about what brokers refuse, where the answer is a setting of ours.
_ADVICE = {
    InvalidReplicationFactorError: " Give --replicas, or EDDY_REPLICAS, no more than there are brokers."
}

#: What brokers refuse because of what we asked for: asking again changes nothing.
_OURS = (
    InvalidConfigurationError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    PolicyViolationError,
)

#: What a broker calls the source of a config entry that is set on the topic itself.
_TOPIC_CONFIG = 1


class BrokerUnreachableError(InfrastructureError):
    """No broker answers. Check EDDY_BOOTSTRAP_SERVERS and the network, then try again."""


class Brokers:
    """A connection for tools. Use `connect`."""

    def __init__(self, connection: Connection, admin: AIOKafkaAdminClient) -> None:
        #: How our topics are called here, see `Connection.topic`.
        self.topic = connection.topic
        self._connection = connection
        self._admin = admin
        self._producer: AIOKafkaProducer | None = None

    async def _started_producer(self) -> AIOKafkaProducer:
        if self._producer is None:
            options = self._connection.client_options()
            self._producer = AIOKafkaProducer(**options, acks="all", max_request_size=16 << 20)
            Redating(self._producer)
            await self._producer.start()
        return self._producer

    async def close(self) -> None:
        """Close what was opened on the way."""
        if self._producer is not None:
            await self._producer.stop()
            self._producer = None

    async def partition_counts(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of partitions of those of the topics that exist."""
        existing = sorted(set(names) & set(await self._admin.list_topics()))
        described = await self._admin.describe_topics(existing) if existing else []
        return {topic["topic"]: len(topic["partitions"]) for topic in described}

    async def topic_ids(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return the id of each of the topics that exist; None where brokers give none."""
        return await topic_ids(admin_client(self._admin), names)

    async def describe(self, names: Iterable[str]) -> list[ActualTopic]:
        """Return those of the topics that exist, with their config."""
        wanted = set(names)
        existing = sorted(wanted & set(await self._admin.list_topics()))
        if not existing:
            return []
        described = await self._admin.describe_topics(existing)
        configs: dict[str, dict[str, str]] = {name: {} for name in existing}
        overridden: dict[str, frozenset[str]] = {name: frozenset() for name in existing}
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in existing]
        for answer in await self._admin.describe_configs(resources):
            for code, message, _, name, entries in answer.resources:
                _check(code, message, f"to tell the config of {name}")
                configs[name] = {entry[0]: entry[1] for entry in entries if entry[1] is not None}
                overridden[name] = frozenset(entry[0] for entry in entries if _set_on_topic(answer, entry))
        return [
            ActualTopic(
                topic["topic"],
                len(topic["partitions"]),
                min((len(partition["replicas"]) for partition in topic["partitions"]), default=0),
                configs[topic["topic"]],
                overridden[topic["topic"]],
            )
            for topic in described
        ]

    async def apply(self, changes: Sequence[Change]) -> bool:
        """Carry out a plan, all of it or nothing.

        A plan that refuses a change is not carried out at all. The brokers are asked first whether they would
        create the topics and add the partitions.

        Returns:
            False if a topic to create exists: the plan was made before the news of it had spread, or another
            operator was quicker. The topic may differ from what is wanted, so describe and plan again.

        Raises:
            ConfigurationError: the brokers refuse what the settings ask for; nothing was changed.
            InfrastructureError: the brokers failed.
        """
        if any(isinstance(change, Refused) for change in changes):
            return True
        if existing := await self._try_out(changes):
            await self._wait_for(existing)
            return False
        created: dict[str, int] = {}
        for change in changes:
            match change:
                case CreateTopic(topic):
                    await self._create(topic)
                    created[topic.name] = topic.partitions
                case AlterConfig(name, entries):
                    config = {entry: wanted for entry, _, wanted in entries}
                    resource = ConfigResource(ConfigResourceType.TOPIC, name, config)
                    answers = await self._admin.alter_configs([resource])
                    for answer in answers:
                        for code, message, *_ in answer.resources:
                            _check(code, message, f"to change the config of {name}")
                case AddPartitions(name, _, wanted):
                    await self._add_partitions(name, wanted)
                case Refused():
                    pass
        await self._wait_for(set(created))
        return await self.partition_counts(created) == created

    async def _try_out(self, changes: Sequence[Change]) -> set[str]:
        """Let the brokers check what is to be created, without creating it; return what exists already."""
        existing: set[str] = set()
        for change in changes:
            match change:
                case CreateTopic(topic):
                    if not await self._create(topic, validate_only=True):
                        existing.add(topic.name)
                case AddPartitions(name, _, wanted):
                    await self._add_partitions(name, wanted, validate_only=True)
                case _:
                    pass
        return existing

    async def _wait_for(self, names: set[str]) -> None:
        """Wait until every broker knows the topics: creation returns before the news has spread."""
        deadline = time.monotonic() + _SPREAD_SECONDS
        while names - set(await self._admin.list_topics()):
            if time.monotonic() > deadline:
                raise InfrastructureError(
                    f"The brokers do not list all topics {_SPREAD_SECONDS:.0f} s after their creation. Check "
                    "the brokers' logs."
                )
            await asyncio.sleep(_SPREAD_POLL_SECONDS)

    async def _create(self, topic: TopicSpec, *, validate_only: bool = False) -> bool:
        """Create a topic, or only let the brokers check it; return False if it exists."""
        new = NewTopic(topic.name, topic.partitions, topic.replicas, topic_configs=dict(topic.config))
        try:
            response = await self._admin.create_topics([new], validate_only=validate_only)
        except TopicAlreadyExistsError:
            return False
        for _, code, *message in response.topic_errors:
            if for_code(code) is TopicAlreadyExistsError:
                return False
            _check(code, message[0] if message else None, f"to create {topic.name}")
        return True

    async def _add_partitions(self, name: str, wanted: int, *, validate_only: bool = False) -> None:
        response = await self._admin.create_partitions(
            {name: NewPartitions(wanted)}, validate_only=validate_only
        )
        for _, code, message in response.topic_errors:
            _check(code, message, f"to add partitions to {name}")

    async def read(self, topic: str, partitions: Iterable[int] | None = None) -> AsyncIterator[Stored]:
        """Yield the records of a topic from its beginning to what was its end at the call, by partition.

        Here and below only what is committed is read: not what an aborted transaction wrote, and of an open
        one nothing.
        """
        tps = await self._partitions(topic)
        if partitions is not None:
            tps = [TopicPartition(topic, partition) for partition in sorted(set(partitions))]
        async with _consumer(self._connection) as consumer:
            begin, end = await consumer.beginning_offsets(tps), await consumer.end_offsets(tps)
            for tp in tps:
                if begin[tp] < end[tp]:  # else it is empty, and a fetch would wait for its first record
                    async for record in _partition(consumer, tp, end[tp]):
                        yield record

    async def offsets_at(self, topic: str, timestamp: int) -> dict[int, int]:
        """Return by partition the offset of the first record from ``timestamp`` (ms) on, or the end."""
        tps = await self._partitions(topic)
        async with _consumer(self._connection) as consumer:
            consumer.assign(tps)
            found = await consumer.offsets_for_times(dict.fromkeys(tps, timestamp))
            end = await consumer.end_offsets(tps)
        return {tp.partition: end[tp] if found[tp] is None else found[tp].offset for tp in tps}

    async def read_range(
        self, topic: str, partition: int, start: int = 0, stop: int | None = None
    ) -> AsyncIterator[Stored]:
        """Yield the records of a partition from ``start`` to before ``stop``, by default what is its end now.

        What the topic no longer holds is left out.
        """
        tp = TopicPartition(topic, partition)
        async with _consumer(self._connection) as consumer:
            begin = (await consumer.beginning_offsets([tp]))[tp]
            end = (await consumer.end_offsets([tp]))[tp]
            if max(start, begin) >= (end if stop is None else min(stop, end)):
                return  # empty, and a fetch would wait for its first record
            consumer.assign([tp])
            consumer.seek(tp, max(start, begin))
            while True:
                fetched = await consumer.getmany(tp, timeout_ms=_POLL_MS)
                # On some brokers the first fetch reports the end better than the look-up; later ones would
                # chase an end that moves on.
                known: int | None = consumer.last_stable_offset(tp)
                end = max(end, known or 0)
                stop = end if stop is None and known is not None else stop
                for record in readable(tp, fetched):
                    if stop is not None and record.offset >= stop:
                        return
                    yield record
                if stop is not None and await consumer.position(tp) >= min(stop, end):
                    return

    async def _partitions(self, topic: str) -> list[TopicPartition]:
        # Asked of the admin client: a consumer knows no topic that it is not assigned.
        counts = await self.partition_counts([topic])
        if topic not in counts:
            raise ConfigurationError(
                f"There is no topic {topic}. Create the topics with `eddy topics apply`."
            )
        return [TopicPartition(topic, partition) for partition in range(counts[topic])]

    async def likely_partitions(self, topic: str, key: bytes) -> list[int]:
        """Return the partitions of a topic, the one first that Kafka's own clients choose for the key."""
        partitions = [tp.partition for tp in await self._partitions(topic)]
        chosen = (murmur2(key) & 0x7FFFFFFF) % len(partitions)
        return [chosen, *(partition for partition in partitions if partition != chosen)]

    async def follow(self, topics: Iterable[str]) -> AsyncIterator[tuple[str, Stored]]:
        """Yield (topic, record) from the beginning of ``topics`` on, for ever."""
        counts = await self.partition_counts(topics)
        async with _consumer(self._connection) as consumer:
            consumer.assign(
                [
                    TopicPartition(topic, partition)
                    for topic, count in counts.items()
                    for partition in range(count)
                ]
            )
            while True:
                fetched = await consumer.getmany(timeout_ms=_POLL_MS)
                for tp in fetched:
                    for record in readable(tp, fetched):
                        yield tp.topic, record

    async def write(
        self, topic: str, records: Iterable[tuple[int | None, Outgoing]]
    ) -> list[tuple[int, int]]:
        """Publish (partition or None, record) in order; return the (partition, offset) of each."""
        producer = await self._started_producer()
        futures = [
            await producer.send(
                topic,
                value=record.value,
                key=record.key,
                partition=partition,
                timestamp_ms=record.timestamp,
                headers=record.headers,
            )
            for partition, record in records
        ]
        done = await asyncio.gather(*futures)
        return [(metadata.partition, metadata.offset) for metadata in done]


@asynccontextmanager
async def connect(connection: Connection) -> AsyncIterator[Brokers]:
    """Connect to the brokers for as long as the block lasts.

    Raises:
        BrokerUnreachableError: none answers.
        InfrastructureError: they refuse.
    """
    admin = AIOKafkaAdminClient(**connection.client_options(), request_timeout_ms=20_000)
    try:
        await admin.start()
    except (KafkaError, OSError) as error:
        await admin.close()
        if (refused := await refusal(connection)) is not None:
            raise BrokerUnreachableError(
                f"{connection.servers[0]} does not let Eddy in. {refused}."
            ) from error
        raise BrokerUnreachableError(
            f"No broker answers at {connection.bootstrap_servers} ({type(error).__name__}). Check "
            "EDDY_BOOTSTRAP_SERVERS, EDDY_SECURITY_PROTOCOL and the network; `eddy doctor` shows what each "
            "server says."
        ) from error
    brokers = Brokers(connection, admin)
    try:
        yield brokers
    except KafkaError as error:
        raise InfrastructureError(f"The brokers refused: {error!r}.") from error
    finally:
        await brokers.close()
        await admin.close()


@asynccontextmanager
async def _consumer(connection: Connection) -> AsyncIterator[CarefulConsumer]:
    consumer = CarefulConsumer(
        max_batch_bytes=connection.max_batch_bytes,
        **connection.client_options(),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level=READ_COMMITTED,
        fetch_max_wait_ms=100,
        max_partition_fetch_bytes=8 << 20,
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def _partition(consumer: CarefulConsumer, tp: TopicPartition, end: int) -> AsyncIterator[Stored]:
    consumer.assign([tp])
    await consumer.seek_to_beginning(tp)
    while True:
        fetched = await consumer.getmany(tp, timeout_ms=_POLL_MS)
        for record in readable(tp, fetched):
            yield record
        # Not the high watermark: behind an open transaction nothing is to be read yet.
        stable = consumer.last_stable_offset(tp)
        if stable is not None and await consumer.position(tp) >= max(end, stable):
            return


def _set_on_topic(answer: Any, entry: Sequence[Any]) -> bool:
    """Tell whether a config entry is the topic's own; version 0 of the answer knows only "a default"."""
    source = entry[3]
    return not source if answer.API_VERSION == 0 else source == _TOPIC_CONFIG


def _check(code: int, message: Any, doing: str) -> None:
    error = for_code(code)
    if code:
        said = f"The brokers refused {doing}: {error.__name__} {message or ''}".rstrip(" .")
        if issubclass(error, _OURS):
            raise ConfigurationError(f"{said}.{_ADVICE.get(error, '')}")
        raise InfrastructureError(f"{said}.")
