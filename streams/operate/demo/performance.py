"""The demo itself: publish the messages, follow the outputs until every record is accounted for."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.event_kind import EventKind
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from streams.core.policy.routing import topic_of
from streams.formats.reading import TopicMessage
from streams.kafka.client import Stored
from streams.operate.demo.cluster import PARTITIONS, Cluster

#: The topics with reports of the job that the demo follows.
ALERTS = frozenset({Topic.ENTROPY_ALERTS, Topic.SESSION_ALERTS})
ADVICE = frozenset({Topic.SESSION_RESPONSES, Topic.SESSION_BUDGETS})


@dataclass(slots=True)
class DemoAccount:
    """What was sent and what came back, by identity, so that a record seen twice counts once."""

    sent: set[tuple[int, int]] = field(default_factory=set)
    """Partition and offset of every record."""
    scored: set[str] = field(default_factory=set)
    """Ids of enriched records."""
    dead: dict[tuple[int, int], str] = field(default_factory=dict)
    """Reason by partition and offset of the source."""
    sessions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The newest `eddy` block by session."""
    alerts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Published alerts by id."""
    advice: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Published responses and budgets by id."""
    announced: set[str] = field(default_factory=set)
    """Ids of the alerts, responses and budgets that the enriched records speak of."""

    def enriched(self, record: dict[str, Any]) -> bool:
        """Take in an enriched record; False when it was seen before."""
        block = record["eddy"]
        if block["id"] in self.scored:
            return False
        self.scored.add(block["id"])
        self.sessions[record["session_id"]] = block
        self.announced.update(event["id"] for event in block["events"] if _is_followed(event))
        return True

    def dead_letter(self, partition: int, offset: int, reason: str) -> None:
        """Take in a dead letter by the coordinates of its source."""
        self.dead[partition, offset] = reason

    def alert(self, fields: dict[str, Any]) -> bool:
        """Take in an alert; False when it was seen before."""
        if fields["id"] in self.alerts:
            return False
        self.alerts[fields["id"]] = fields
        return True

    def advised(self, fields: dict[str, Any]) -> None:
        """Take in a response or a budget."""
        self.advice[fields["id"]] = fields

    @property
    def lost(self) -> int:
        """How many records sent, and events announced, have not come back."""
        records = len(self.sent) - len(self.scored) - len(self.dead)
        return records + len(self.announced - self.alerts.keys() - self.advice.keys())


def _is_followed(event: dict[str, Any]) -> bool:
    """Whether an event is published where the demo looks; its workers have the default settings."""
    return topic_of(EventKind(event["event_type"]), event, DEFAULTS) in ALERTS | ADVICE


#: Records published at a time: few enough that the screen shows how the scores come in.
_CHUNK = 200

_PATIENCE_SECONDS = 30.0

Decode = Callable[[bytes | None, Sequence[tuple[str, bytes | None]]], dict[str, Any]]

_FOLLOWED = (Topic.ENRICHED, *ALERTS, *ADVICE, Topic.DEAD_LETTERS)


class Audience(Protocol):
    """What watches a performance."""

    def scored(self, account: DemoAccount) -> None:
        """Look at how far it is."""

    def alerted(self, fields: Mapping[str, Any]) -> None:
        """Hear of an alert."""


@dataclass(frozen=True, slots=True)
class PerformanceOutcome:
    """What came of it."""

    account: DemoAccount
    seconds: float
    """From the first record published to the last one back."""


async def perform(
    cluster: Cluster, messages: Iterable[TopicMessage], audience: Audience
) -> PerformanceOutcome:
    """Publish ``messages`` in order and wait until all are accounted for, or nothing more comes.

    Raises:
        InfrastructureError: a worker died.
    """
    account = DemoAccount()
    started = time.monotonic()
    follower = asyncio.create_task(_follow(cluster, account, audience))
    try:
        await _publish(cluster, messages, account)
        await _settle(cluster, account, follower)
    finally:
        follower.cancel()
        await asyncio.gather(follower, return_exceptions=True)
    return PerformanceOutcome(account, time.monotonic() - started)


async def _publish(cluster: Cluster, messages: Iterable[TopicMessage], account: DemoAccount) -> None:
    source = iter(messages)
    while chunk := list(islice(source, _CHUNK)):
        coordinates = await cluster.brokers.write(
            Topic.DECISION_LOGS, [(_partition(message.key), _outgoing(message)) for message in chunk]
        )
        account.sent.update(coordinates)
        cluster.check()


def _partition(key: bytes | None) -> int:
    return zlib.crc32(key or b"") % PARTITIONS


def _outgoing(message: TopicMessage) -> Outgoing:
    timestamp = message.timestamp if message.timestamp is not None else int(time.time() * 1000)
    return Outgoing(message.key, message.value, timestamp)


async def _settle(cluster: Cluster, account: DemoAccount, follower: asyncio.Task[None]) -> None:
    best, since = account.lost, time.monotonic()
    while account.lost > 0:
        await asyncio.wait([follower], timeout=0.05)
        if follower.done():
            follower.result()
        cluster.check()
        if account.lost < best:
            best, since = account.lost, time.monotonic()
        elif time.monotonic() - since > _PATIENCE_SECONDS:
            return


async def _follow(cluster: Cluster, account: DemoAccount, audience: Audience) -> None:
    codec = Codec.bundled()
    decode: Mapping[str, Callable[[bytes | None, Sequence[tuple[str, bytes | None]]], dict[str, Any]]] = {
        topic: codec.decoder(f"{topic}-value").decode
        for topic in _FOLLOWED
        if topic is not Topic.DEAD_LETTERS
    }
    async for topic, record in cluster.brokers.follow(_FOLLOWED):
        if topic == Topic.DEAD_LETTERS:
            account.dead_letter(*_source(record))
        elif topic == Topic.ENRICHED:
            account.enriched(decode[topic](record.value, record.headers))
        elif topic in ADVICE:
            account.advised(decode[topic](record.value, record.headers))
        elif account.alert(fields := decode[topic](record.value, record.headers)):
            audience.alerted(fields)
        audience.scored(account)


def _source(record: Stored) -> tuple[int, int, str]:
    headers = {name: content or b"" for name, content in record.headers}
    try:
        return (
            int(headers["__streams.errors.partition"]),
            int(headers["__streams.errors.offset"]),
            headers["x-dlq-reason"].decode(),
        )
    except (KeyError, ValueError) as error:
        raise InfrastructureError(f"A dead letter does not say where it came from ({error!r}).") from error
