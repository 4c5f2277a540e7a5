"""Issues and publishes commands, acks and audit records: the audit knows before anything is done."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

import orjson
from eddy_client.protocol import signed

from schemas.codec import Codec, Encoder
from streams.control.audit import AuditKind, AuditRecord, Result
from streams.control.command import Command
from streams.control.label import Label
from streams.control.outcome import Ack
from streams.control.rules import checked
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, EddyError
from streams.kafka.reading import partition_of

LARGEST_VALUE: Final = 60_000
"""Bytes: below the 64 KiB of the topics, with room for key and headers."""

Place = tuple[int, int]
"""Partition and offset."""


class PublisherBrokers(Protocol):
    """What the publisher needs of `streams.kafka.client.Brokers`."""

    def topic(self, topic: Topic, /) -> str:
        """Return how a topic of ours is called on these brokers."""
        ...

    async def partition_counts(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of partitions of those of the topics that exist."""
        ...

    async def write(self, topic: str, records: Iterable[tuple[int | None, Outgoing]]) -> list[Place]:
        """Publish (partition or None, record) in order; return the (partition, offset) of each."""
        ...


class CommandPublisher:
    """Where commands are issued.

    Args:
        brokers: Connected; the publisher does not close it.
        codec: How this process writes the subjects of the control loop.
        key: `EDDY_COMMAND_KEY`: commands are signed with it; None leaves them unsigned.
    """

    def __init__(self, brokers: PublisherBrokers, codec: Codec, key: bytes | None) -> None:
        self._brokers = brokers
        self._codec = codec
        self._key = key
        self._partitions: dict[Topic, int] = {}
        self._encoders: dict[Topic, Encoder] = {}

    @property
    def signs(self) -> bool:
        """Whether commands are signed."""
        return self._key is not None

    async def issue(self, commands: Iterable[Command]) -> list[Place]:
        """Publish commands, all or none unless the brokers fail on the way; return the place of each.

        Raises:
            ConfigurationError: a command breaks a rule, or the topic is missing; nothing is published.
            InfrastructureError: the brokers do not take them now. Some may be there; a repeat with the same
                ids does no harm.
        """
        records = [(each.key, each.fields(), each.issued_at) for each in map(checked, commands)]
        outgoing = [self._outgoing(Topic.SESSION_COMMANDS, *record) for record in records]
        return await self._publish(Topic.SESSION_COMMANDS, [self._signed(each) for each in outgoing])

    async def acknowledge(self, acks: Iterable[Ack]) -> list[Place]:
        """Publish the answers of guards that do not write to Kafka themselves.

        Raises:
            ConfigurationError: an ack is too large, or the topic is missing; nothing is published.
            InfrastructureError: the brokers do not take them now.
        """
        topic = Topic.SESSION_COMMAND_ACKS
        return await self._publish(
            topic, [self._outgoing(topic, ack.key, ack.fields(), ack.at) for ack in acks]
        )

    async def audit(self, record: AuditRecord) -> Place:
        """Publish an audit record. An action whose record cannot be written is not done.

        Raises:
            ConfigurationError: the topic is missing.
            InfrastructureError: the brokers do not take it now.
        """
        [place] = await self.audit_all([record])
        return place

    async def audit_all(self, records: Iterable[AuditRecord]) -> list[Place]:
        """Publish several audit records, as `audit` does."""
        topic = Topic.CONSOLE_ACTIONS
        outgoing = [self._outgoing(topic, each.key, each.fields(), each.at, None) for each in records]
        return await self._publish(topic, outgoing)

    async def label(self, labels: Iterable[Label]) -> list[Place]:
        """Publish what people say of alerts.

        Raises:
            ConfigurationError: the topic is missing.
            InfrastructureError: the brokers do not take them now.
        """
        records = [Outgoing(each.key, orjson.dumps(each.fields()), each.at) for each in labels]
        return await self._publish(Topic.SESSION_LABELS, records) if records else []

    async def take_back(self, labels: Iterable[str], at: int) -> list[Place]:
        """Publish that labels do not count any more.

        Args:
            labels: Episodes that they are about, or session/ and a session.
            at: Time of the records, ms since 1970.

        Raises:
            ConfigurationError: the topic is missing.
            InfrastructureError: the brokers do not take them now.
        """
        records = [Outgoing(each.encode("utf-8", "replace"), None, at) for each in labels]
        return await self._publish(Topic.SESSION_LABELS, records) if records else []

    async def partition(self, topic: Topic, key: bytes) -> int:
        """Return the partition of a key on a topic of the control loop.

        Raises:
            ConfigurationError: the topic is missing.
        """
        return partition_of(key, await self._count(topic))

    def _outgoing(
        self,
        topic: Topic,
        key: bytes,
        fields: dict[str, object],
        at: int,
        largest: int | None = LARGEST_VALUE,
    ) -> Outgoing:
        encoder = self._encoders.get(topic)
        if encoder is None:
            encoder = self._encoders[topic] = self._codec.encoder(f"{topic}-value")
        value = encoder.encode(fields)
        if largest is not None and len(value) > largest:
            raise ConfigurationError(
                f"A record for {topic} has {len(value):,} bytes: {largest:,} are possible. Shorten its texts."
            )
        return Outgoing(key, value, at, list(encoder.headers))

    def _signed(self, record: Outgoing) -> Outgoing:
        if self._key is None or record.value is None:
            return record
        return record._replace(headers=[*record.headers, signed(record.value, self._key)])

    async def _publish(self, topic: Topic, records: Sequence[Outgoing]) -> list[Place]:
        count = await self._count(topic)
        placed = [(partition_of(each.key or b"", count), each) for each in records]
        return await self._brokers.write(self._brokers.topic(topic), placed)

    async def _count(self, topic: Topic) -> int:
        if topic not in self._partitions:
            name = self._brokers.topic(topic)
            counts = await self._brokers.partition_counts([name])
            if name not in counts:
                raise ConfigurationError(
                    f"There is no topic {name}. Create the topics with `eddy topics apply`."
                )
            self._partitions[topic] = counts[name]
        return self._partitions[topic]


T = TypeVar("T")

log = logging.getLogger(__name__)


def audit_of(commands: Sequence[Command], audit_id: str) -> AuditRecord:
    """Return the audit record of commands that one action issues, as it is before the action.

    Args:
        commands: One or more, alike but for the session.
        audit_id: A new id for the audit record.
    """
    first, others = commands[0], len(commands) - 1
    alike = {**first.fields(), "session_ids": [each.session_id for each in commands]} if others else None
    return AuditRecord(
        id=audit_id,
        at=first.issued_at,
        who=first.issuer.name,
        role=first.issuer.role,
        via=first.issuer.via,
        kind=AuditKind.COMMAND,
        target=f"{len(commands)} sessions" if others else first.key.decode(),
        why=first.reason,
        request=orjson.dumps(alike or first.fields()).decode(),
    )


async def issued(
    publisher: CommandPublisher, commands: Sequence[Command], record: AuditRecord
) -> list[Place]:
    """Write the audit record, publish the commands, and write how that ended; return their places.

    Raises:
        ConfigurationError: a command breaks a rule, or a topic is missing.
        InfrastructureError: the brokers failed. Without its audit record nothing was issued.
    """
    return await recorded(publisher, record, lambda: publisher.issue(commands), _newest)


async def recorded(
    publisher: CommandPublisher,
    record: AuditRecord,
    act: Callable[[], Awaitable[T]],
    place: Callable[[T], str],
) -> T:
    """Write an audit record, act, and write how that ended; return what the action returned.

    Args:
        publisher: Where the audit is.
        record: As it is before the action.
        act: Does what the audit record announces.
        place: Names where what the action returned stands: topic/partition/offset.

    Raises:
        EddyError: of the action, or the audit did not take the record: then nothing was done.
    """
    await publisher.audit(record)
    try:
        result = await act()
    except EddyError:
        await _ended(publisher, record.ended(Result.FAILED))
        raise
    await _ended(publisher, record.ended(Result.ACCEPTED, place(result)))
    return result


def _newest(places: Sequence[Place]) -> str:
    partition, offset = places[-1]
    return f"{Topic.SESSION_COMMANDS}/{partition}/{offset}"


async def _ended(publisher: CommandPublisher, record: AuditRecord) -> None:
    """Write how an action ended. It has happened: that the audit does not take this undoes nothing."""
    try:
        await publisher.audit(record)
    except EddyError as error:
        log.warning("The audit of an action has no result: %s", error)
