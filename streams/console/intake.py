"""From records to the read model: decodes what has to be decoded, folds it, and counts what it cannot read.

It runs in the event loop, in slices: an answer to a browser waits for one slice at most.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from schemas.codec import Codec, Decoder, UndecodableError
from schemas.json_reader import read_json
from schemas.wire_format import Headers
from streams.console.read_plan import READ_PLAN
from streams.core.domain.record import Unreadable
from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from streams.kafka.stored import Stored

log = logging.getLogger(__name__)

LARGEST_OUTPUT: Final = 8 << 20
"""Bytes of the largest value that a topic of the job takes."""

#: How long the fold keeps the event loop, and how long it then leaves it alone where it must not take all.
_SLICE_SECONDS: Final = 0.005
_LOOK_EVERY: Final = 8
_REGISTRY_PAUSE_SECONDS: Final = 2.0
_NEWEST: Final = 100

_DOCUMENTS: Final = (Topic.DETECTOR_CONFIG, Topic.SHADOW_CONFIG, Topic.INTERVENTION_POLICY)
#: Topics whose values the folds take as they are, or not at all.
_WHOLE: Final = (Topic.DEAD_LETTERS, Topic.REDRIVEN)


class Fold(Protocol):
    """The part of the read model that takes records in."""

    def take(self, topic: Topic, source: Stored, fields: Mapping[str, Any] | None) -> bool:
        """Fold one record; return False if it is not what its topic promises."""

    def wants_value(self, source: Stored) -> bool:
        """Tell whether the value of an enriched record is needed."""


class UnreadRecord(NamedTuple):
    """A record that was passed over: its place, when Kafka got it (ms), and why."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    why: str


class ReadModelIntake:
    """Folds records of every topic.

    Args:
        model: Read model that takes records in.
        codec: Reads the values of the records.
        topics: Which topic each name on the brokers is.

    Attributes:
        records: how many were folded since the start, by topic.
        decoded: of how many the value was read.
        seconds: how long that took, waiting excluded.
        unread: how many were passed over, by topic.
        newest_unread: the newest of those.
        listeners: Called with each record of a topic that was folded at the end of the stream, and its value.
    """

    def __init__(self, model: Fold, codec: Codec, topics: Mapping[str, Topic]) -> None:
        self._model = model
        self._topics = topics
        self._decoders = _decoders(codec)
        self.records: Counter[Topic] = Counter()
        self.decoded = 0
        self.seconds = 0.0
        self.unread: Counter[Topic] = Counter()
        self.newest_unread: deque[UnreadRecord] = deque(maxlen=_NEWEST)
        self.listeners: dict[Topic, Callable[[Stored, Mapping[str, Any]], None]] = {}

    async def take(
        self, batch: Sequence[tuple[str, Stored]], *, share: float = 1.0, is_new: bool = False
    ) -> None:
        """Fold a batch.

        Args:
            batch: Records with the names of their topics.
            share: How much of the time it may take of the event loop, 1 for all that nobody else wants.
            is_new: Whether it comes from the end of the stream: no listener hears of history.
        """
        await self._prepare(batch)
        began = time.perf_counter()
        for number, (name, record) in enumerate(batch):
            self._fold(self._topics[name], record, is_new=is_new)
            if number % _LOOK_EVERY == 0 and (took := time.perf_counter() - began) > _SLICE_SECONDS:
                self.seconds += took
                await asyncio.sleep(took * (1 / share - 1))
                began = time.perf_counter()
        self.seconds += time.perf_counter() - began

    @property
    def total(self) -> int:
        """How many records were folded since the start."""
        return self.records.total()

    def leave_out(self, unreadable: Iterable[tuple[str, int, Unreadable]]) -> None:
        """Count what the client could not read: name of the topic, partition, and what there is of it."""
        for name, partition, record in unreadable:
            self.pass_over(self._topics[name], partition, record.offset, record.timestamp, record.detail)

    def pass_over(self, topic: Topic, partition: int, offset: int, timestamp: int, why: str) -> None:
        """Count a record that cannot be read, and remember its place."""
        self.unread[topic] += 1
        self.newest_unread.append(UnreadRecord(topic, partition, offset, timestamp, why))

    def _fold(self, topic: Topic, record: Stored, *, is_new: bool) -> None:
        fields = None
        if record.value is not None and (topic is not Topic.ENRICHED or self._model.wants_value(record)):
            try:
                fields = self._read(topic, record)
            except UndecodableError as error:
                self.pass_over(topic, record.partition, record.offset, record.timestamp, str(error))
                if topic is not Topic.ENRICHED:
                    return
        self.records[topic] += 1
        if not self._model.take(topic, record, fields):
            why = f"it is not what {topic} promises"
            self.pass_over(topic, record.partition, record.offset, record.timestamp, why)
        elif is_new and fields is not None and (listener := self.listeners.get(topic)) is not None:
            listener(record, fields)

    def _read(self, topic: Topic, record: Stored) -> Mapping[str, Any] | None:
        if topic not in self._decoders:
            return None
        self.decoded += 1
        return self._decoders[topic].decode(record.value, record.headers)

    async def _prepare(self, batch: Sequence[tuple[str, Stored]]) -> None:
        """Let the decoders fetch the schemas they need; wait for a registry that does not answer."""
        found: dict[Topic, list[tuple[bytes | None, Headers]]] = {}
        for name, record in batch:
            found.setdefault(self._topics[name], []).append((record.value, record.headers))
        for topic, messages in found.items():
            while (decoder := self._decoders.get(topic)) is not None:
                try:
                    await decoder.prepare(messages)
                except InfrastructureError as error:
                    log.warning("%s Reading waits for it.", error)
                    await asyncio.sleep(_REGISTRY_PAUSE_SECONDS)
                else:
                    break


class _Documents:
    """Reads the values of topics that hold JSON documents, as a decoder does."""

    async def prepare(self, messages: Iterable[tuple[bytes | None, Headers]]) -> None:
        """Need nothing."""

    def decode(self, value: bytes | None, headers: Headers) -> dict[str, Any]:  # noqa: ARG002
        """Return the document."""
        return read_json(value or b"", 0)


def _decoders(codec: Codec) -> dict[Topic, Decoder | _Documents]:
    """Return how the values of each topic are read; those of dead letters and of marks are not."""
    found: dict[Topic, Decoder | _Documents] = {topic: _Documents() for topic in _DOCUMENTS}
    for topic in READ_PLAN:
        if topic not in _DOCUMENTS and topic not in _WHOLE:
            found[topic] = codec.decoder(f"{topic}-value")
    return found
