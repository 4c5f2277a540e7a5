"""A run: the consecutive records of one partition that one poll returned, cut to a bounded size."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol, Self


class Message(Protocol):
    """What the engine needs of a consumed Kafka record; `Unreadable` stands for one that no client reads."""

    @property
    def offset(self) -> int:
        """Its offset in the partition."""

    @property
    def timestamp(self) -> int:
        """The timestamp of the Kafka record, ms since 1970."""

    @property
    def key(self) -> bytes | None:
        """As it came."""

    @property
    def value(self) -> bytes | None:
        """As it came."""

    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]:
        """As they came; in Kafka the value of a header may be null."""


class StoredRecord(Message, Protocol):
    """A record of a topic, read back from where it stands."""

    @property
    def partition(self) -> int:
        """Its partition of the topic."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive records of one partition, oldest first; never empty."""

    topic: str
    partition: int
    messages: Sequence[Message]

    @property
    def first_offset(self) -> int:
        """Offset of the oldest record."""
        return self.messages[0].offset

    @property
    def last_offset(self) -> int:
        """Offset of the newest record."""
        return self.messages[-1].offset

    @property
    def next_offset(self) -> int:
        """What is committed once the run is done: the offset after its last record."""
        return self.messages[-1].offset + 1

    @property
    def size(self) -> int:
        """Bytes of its values."""
        return sum([len(message.value) for message in self.messages if message.value is not None])

    def __len__(self) -> int:
        return len(self.messages)

    def split(self, offset: int) -> tuple[Self | None, Self | None]:
        """Return the records before an offset, and those from there on; None where there are none."""
        if offset <= self.first_offset:
            return None, self
        if offset > self.last_offset:
            return self, None
        at = bisect_left(self.messages, offset, key=attrgetter("offset"))
        return (
            type(self)(self.topic, self.partition, self.messages[:at]),
            type(self)(self.topic, self.partition, self.messages[at:]),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return runs that follow one another in their partition as one."""
        if len(parts) == 1:
            return parts[0]
        messages = [message for part in parts for message in part.messages]
        return cls(parts[0].topic, parts[0].partition, messages)


def _cuts(messages: Sequence[Message], max_records: int, max_bytes: int) -> Iterator[Sequence[Message]]:
    start = size = 0
    for index, message in enumerate(messages):
        value = message.value
        size += len(value) if value is not None else 0
        if index > start and (index - start >= max_records or size > max_bytes):
            yield messages[start:index]
            start = index
            size = len(value) if value is not None else 0
    yield messages[start:]


def rounds(runs: Iterable[Run]) -> Iterator[list[Run]]:
    """Group runs, in their order, so that no partition is twice in a group."""
    group: dict[tuple[str, int], Run] = {}
    for run in runs:
        if (run.topic, run.partition) in group:
            yield list(group.values())
            group = {}
        group[run.topic, run.partition] = run
    if group:
        yield list(group.values())


def runs(
    fetched: Mapping[tuple[str, int], Sequence[Message]], *, max_records: int, max_bytes: int
) -> Iterator[Run]:
    """Cut what a poll returned into runs and interleave the partitions.

    A run holds at most ``max_records`` records and ``max_bytes`` of values (a single larger record is a
    run of its own). Interleaving keeps a partition with a deep backlog from holding up the others.
    """
    waiting = [
        (topic, partition, _cuts(messages, max_records, max_bytes))
        for (topic, partition), messages in fetched.items()
        if messages
    ]
    while waiting:
        still_waiting = []
        for topic, partition, cuts in waiting:
            messages = next(cuts, None)
            if messages is not None:
                yield Run(topic, partition, messages)
                still_waiting.append((topic, partition, cuts))
        waiting = still_waiting
