"""What a notifier remembers in Kafka beside its offsets, and the dead letters it writes."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from streams.alerts.pending_delivery import AlertDeadLetter, PartlyDelivered
from streams.core.domain.record import Headers, Outgoing
from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from streams.kafka.stored import Stored

log = logging.getLogger(__name__)

_AGAIN_S: Final = 2.0
_MOST_HANDLES: Final = 100_000
_SAID: Final = 1_024
"""Bytes of an answer that a dead letter keeps."""


class ProgressBrokers(Protocol):
    """What the memory needs of `streams.kafka.client.Brokers`."""

    def topic(self, topic: Topic, /) -> str:
        """Return how a topic of ours is called on these brokers."""
        ...

    def read(self, topic: str, partitions: Iterable[int] | None = None) -> AsyncIterator[Stored]:
        """Yield what a topic holds."""
        ...

    async def write(
        self, topic: str, records: Iterable[tuple[int | None, Outgoing]]
    ) -> list[tuple[int, int]]:
        """Publish records in order."""
        ...


class SinkOffsets(NamedTuple):
    """How far a partition was told.

    Attributes:
        start: Where the group began to read it.
        sinks: Those that are ahead of the group's offset, each with the offset before which it has all.
        beyond: What sinks have beyond the first alert that waits for them.
        partitions: How many partitions the topic had when the group began; None where that is not known.
    """

    start: int
    sinks: Mapping[str, int]
    beyond: Mapping[str, PartlyDelivered] = MappingProxyType({})
    partitions: int | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> SinkOffsets | None:
        """Read what `document` returned, None if it is something else."""
        match document:
            case {"start": int(start), "sinks": dict(sinks)}:
                beyond, partitions = document.get("beyond", {}), document.get("partitions")
            case _:
                return None
        try:
            return cls(
                start,
                {str(name): int(at) for name, at in sinks.items()},
                {
                    str(name): PartlyDelivered(int(end), tuple(map(int, waiting)))
                    for name, (end, waiting) in beyond.items()
                },
                partitions if isinstance(partitions, int) else None,
            )
        except (ArithmeticError, AttributeError, TypeError, ValueError):
            return None

    def document(self) -> Mapping[str, Any]:
        """Return them as JSON has them."""
        return {
            "start": self.start,
            "sinks": dict(self.sinks),
            "beyond": {name: [end, list(waiting)] for name, (end, waiting) in self.beyond.items()},
            "partitions": self.partitions,
        }


class ProgressTopics:
    """The topics of one group of notifiers. What is written has arrived when the call returns.

    Brokers that are away are waited for: a message that nobody remembers would be sent twice.

    Args:
        brokers: Connection that is already open.
        group: Consumer group of the notifier.
    """

    def __init__(self, brokers: ProgressBrokers, group: str) -> None:
        self._brokers = brokers
        self._group = group
        self._handles: OrderedDict[tuple[str, str], str] = OrderedDict()

    def handle(self, sink: str, key: str) -> str | None:
        """Return what a sink has left about an episode, such as the id of its message."""
        return self._handles.get((sink, key))

    async def load(self, partition: int) -> SinkOffsets | None:
        """Read what is known of a partition; return how far it was told, None if nothing is known.

        Raises:
            InfrastructureError: the brokers do not answer.
        """
        marks = None
        async for stored in self._brokers.read(self._brokers.topic(Topic.NOTIFY_STATE), [partition]):
            key, value = _read(stored.key), _read(stored.value)
            if not isinstance(key, list) or key[:1] != [self._group]:
                continue
            match key[1:], value:
                case ["marks"], dict(document):
                    marks = SinkOffsets.of(document)
                case ["handle", str(sink), str(about)], {"handle": str(handle)}:
                    self._remember(sink, about, handle)
        return marks

    async def keep_handle(self, partition: int, sink: str, key: str, handle: str, now_ms: int) -> None:
        """Remember what a sink has left about an episode."""
        self._remember(sink, key, handle)
        await self._keep(partition, ["handle", sink, key], {"handle": handle}, now_ms)

    async def keep_marks(self, partition: int, marks: SinkOffsets, now_ms: int) -> None:
        """Remember how far a partition was told."""
        await self._keep(partition, ["marks"], marks.document(), now_ms)

    async def bury(self, letters: Iterable[AlertDeadLetter], sink: str, now_ms: int) -> None:
        """Write dead letters."""
        records = [_letter(letter, sink, self._group, now_ms) for letter in letters]
        await self._write(Topic.ALERT_DEAD_LETTERS, records)

    def _remember(self, sink: str, key: str, handle: str) -> None:
        self._handles[sink, key] = handle
        self._handles.move_to_end((sink, key))
        if len(self._handles) > _MOST_HANDLES:
            self._handles.popitem(last=False)

    async def _keep(self, partition: int, key: list[str], value: Mapping[str, Any], now_ms: int) -> None:
        name = json.dumps([self._group, *key]).encode()
        record = Outgoing(name, json.dumps(value).encode(), now_ms)
        await self._write(Topic.NOTIFY_STATE, [(partition, record)])

    async def _write(self, topic: Topic, records: list[tuple[int | None, Outgoing]]) -> None:
        while True:
            try:
                await self._brokers.write(self._brokers.topic(topic), records)
            except InfrastructureError as error:
                log.warning("%s It is written again until the brokers take it.", error)
                await asyncio.sleep(_AGAIN_S)
            else:
                return


def _letter(letter: AlertDeadLetter, sink: str, group: str, now_ms: int) -> tuple[int | None, Outgoing]:
    alert = letter.delivery.alert
    headers: Headers = [
        ("content-type", b"application/json"),
        ("x-dlq-sink", sink.encode()),
        ("x-dlq-reason", letter.why.encode(errors="replace")[:_SAID]),
        ("x-dlq-status", str(letter.status).encode()),
        ("x-dlq-answer", letter.body[:_SAID]),
        ("x-dlq-step", letter.delivery.step.value.encode()),
        ("x-dlq-group", group.encode()),
        ("x-dlq-offset", str(alert.offset).encode()),
    ]
    value = json.dumps(dict(alert.fields), default=str).encode(errors="replace")
    return alert.partition, Outgoing(alert.session_id.encode(errors="replace"), value, now_ms, headers)


def _read(value: bytes | None) -> Any:
    try:
        return json.loads(value or b"null")
    except ValueError:
        return None
