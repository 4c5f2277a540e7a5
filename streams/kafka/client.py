"""What the tools need of the brokers: describe and change topics, write and read a few records."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
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
    MessageSizeTooLargeError,
    NodeNotReadyError,
    PolicyViolationError,
    RecordTooLargeError,
    TopicAlreadyExistsError,
    for_code,
)

from streams.core.domain.record import Outgoing
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.connection import Connection, refusal
from streams.kafka.patches.bootstrap import admin_client, close_what_is_left, stop_wholly
from streams.kafka.patches.redating import Redating
from streams.kafka.reading import TopicReading
from streams.kafka.stored import Stored as Stored  # noqa: PLC0414 - what this module returns
from streams.kafka.stored import answered
from streams.kafka.topic_identity import topic_ids
from topics.catalogue import TopicSpec
from topics.plan import ActualTopic, AddPartitions, AlterConfig, Change, CreateTopic, Refused


@contextmanager
def explained(topic: str) -> Iterator[None]:
    """Let a block that writes to a topic fail with errors of Eddy's.

    Raises:
        ConfigurationError: a record is larger than the topic allows.
        InfrastructureError: the brokers do not take the records now. Some may be there.
    """
    try:
        yield
    except (MessageSizeTooLargeError, RecordTooLargeError) as error:
        raise ConfigurationError(
            f"{topic} takes no record as large as one of these ({error}). Raise max.message.bytes."
        ) from error
    except KafkaError as error:
        raise InfrastructureError(
            f"The brokers refused the records for {topic}: {error!r}. Check the brokers, and whether "
            "this user may write there."
        ) from error


log = logging.getLogger(__name__)

#: So long a broker may take to answer the first question before somebody is told what is awaited.
_SILENT_SECONDS = 3.0
_REQUEST_TIMEOUT_MS = 20_000

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


class Brokers(TopicReading):
    """A connection for tools. Use `connect`."""

    def __init__(self, connection: Connection, admin: AIOKafkaAdminClient) -> None:
        super().__init__(connection, self.partition_counts)
        #: How our topics are called here, see `Connection.topic`.
        self.topic = connection.topic
        #: Their addresses, as a command names them.
        self.servers = connection.bootstrap_servers
        self._admin = admin
        self._producer: AIOKafkaProducer | None = None
        self._starting = asyncio.Lock()

    async def _started_producer(self) -> AIOKafkaProducer:
        async with self._starting:
            if self._producer is None:
                options = self._connection.client_options()
                producer = AIOKafkaProducer(**options, acks="all", max_request_size=16 << 20)
                Redating(producer)
                try:
                    await producer.start()
                except BaseException:
                    await stop_wholly(producer.stop())
                    raise
                # Not before: one that has not started takes records, and never sends them.
                self._producer = producer
        return self._producer

    async def close(self) -> None:
        """Close what was opened on the way."""
        if self._producer is not None:
            producer, self._producer = self._producer, None
            await stop_wholly(producer.stop())

    async def partition_counts(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of partitions of those of the topics that exist."""
        existing = sorted(set(names) & set(await self._admin.list_topics()))
        described = await self._admin.describe_topics(existing) if existing else []
        return {topic["topic"]: len(topic["partitions"]) for topic in described}

    async def group_lag(self, group: str, topic: str) -> dict[int, int | None]:
        """Return by partition how many records a group has before it; None where it has committed nothing.

        Raises:
            ConfigurationError: there is no such topic.
            InfrastructureError: the brokers do not answer, or this user may not read the group.
        """
        ends = await self.ends(topic)
        with answered(f"how far {group} is"):
            tps = [TopicPartition(topic, partition) for partition in ends]
            found = await self._admin.list_consumer_group_offsets(group, partitions=tps)
        committed = {tp.partition: each.offset for tp, each in found.items() if each.offset >= 0}
        return {
            partition: max(0, end - committed[partition]) if partition in committed else None
            for partition, end in sorted(ends.items())
        }

    async def count_brokers(self) -> int:
        """Return how many brokers the cluster has now."""
        with answered("how many brokers there are"):
            return len((await self._admin.describe_cluster())["brokers"])

    async def topic_ids(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return the id of each of the topics that exist; None where brokers give none."""
        return await topic_ids(admin_client(self._admin), names)

    async def layout(self, names: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Return the number of partitions and the id of those of the topics that exist.

        The id is empty where brokers give none.

        Raises:
            InfrastructureError: the brokers do not answer.
        """
        with answered("which topics there are"):
            counts = await self.partition_counts(names)
        ids = await self.topic_ids(counts)
        return {name: (count, ids[name] or "") for name, count in counts.items() if name in ids}

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
        """Wait until every broker knows the topics: creation returns before the news has spread.

        Thousands of partitions take minutes. It may take any time, as long as more topics are there.
        """
        fewest, deadline = len(names) + 1, 0.0
        while missing := names - set(await self._admin.list_topics()):
            if len(missing) < fewest:
                fewest, deadline = len(missing), time.monotonic() + _SPREAD_SECONDS
            elif time.monotonic() > deadline:
                raise InfrastructureError(
                    f"The brokers have listed no more topics for {_SPREAD_SECONDS:.0f} s, and {fewest} that "
                    "were created are missing. Check the brokers' logs, then run it again."
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

    async def write(
        self, topic: str, records: Iterable[tuple[int | None, Outgoing]]
    ) -> list[tuple[int, int]]:
        """Publish (partition or None, record) in order; return the (partition, offset) of each."""
        with explained(topic):
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


async def _start(admin: AIOKafkaAdminClient, connection: Connection) -> None:
    await admin.start()
    if connection.oauth_token is not None and not admin_client(admin).cluster.brokers():
        # Up to Apache Kafka 3.9 a refused token is answered so.
        raise NodeNotReadyError("no broker is named")


@asynccontextmanager
async def connect(connection: Connection) -> AsyncIterator[Brokers]:
    """Connect to the brokers for as long as the block lasts.

    Raises:
        BrokerUnreachableError: none answers.
        InfrastructureError: they refuse.
    """
    close_what_is_left()
    admin = AIOKafkaAdminClient(**connection.client_options(), request_timeout_ms=_REQUEST_TIMEOUT_MS)
    silence = asyncio.get_running_loop().call_later(
        _SILENT_SECONDS,
        log.warning,
        "No broker at %s has answered for %g s. Eddy waits for half a minute; Ctrl-C ends it now.",
        connection.bootstrap_servers,
        _SILENT_SECONDS,
    )
    try:
        await _start(admin, connection)
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
    except BaseException:
        await stop_wholly(admin.close())
        raise
    finally:
        silence.cancel()
    brokers = Brokers(connection, admin)
    try:
        yield brokers
    except KafkaError as error:
        raise InfrastructureError(f"The brokers refused: {error!r}.") from error
    finally:
        try:
            await brokers.close()
        finally:
            await stop_wholly(admin.close())


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
