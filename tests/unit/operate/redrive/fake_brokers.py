"""Topics in memory, with the part of `Brokers` that redriving uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable

from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import Stored
from topics.plan import ActualTopic


class FakeBrokers:
    """Partitions are lists. `writes` has topic and size of each write; `before_write` is told the topic."""

    def __init__(self, partitions: int = 4, **config: str) -> None:
        self.partitions = partitions
        self.with_marks = partitions
        self.config = config
        self.topics: dict[tuple[str, int], list[Stored]] = defaultdict(list)
        self.writes: list[tuple[str, int]] = []
        self.missing: set[str] = set()
        self.before_write = lambda topic: None

    def topic(self, topic: Topic) -> str:
        return str(topic)

    def put(self, topic: str, partition: int, record: Outgoing) -> int:
        log = self.topics[str(topic), partition]
        log.append(Stored(partition, len(log), record.timestamp, record.key, record.value, record.headers))
        return len(log) - 1

    def held(self, topic: str) -> list[Stored]:
        return [each for (name, _), log in sorted(self.topics.items()) if name == topic for each in log]

    async def partition_counts(self, names: Iterable[str]) -> dict[str, int]:
        counts = {Topic.DETECTOR_CONFIG: 1, Topic.REDRIVEN: self.with_marks}
        return {
            str(name): counts.get(Topic(name), self.partitions) for name in names if name not in self.missing
        }

    async def describe(self, names: Iterable[str]) -> list[ActualTopic]:
        return [ActualTopic(str(name), self.partitions, 1, self.config) for name in names]

    async def read(self, topic: str, partitions: Iterable[int]) -> AsyncIterator[Stored]:
        for partition in partitions:
            for record in list(self.topics[str(topic), partition]):
                yield record

    async def read_range(
        self, topic: str, partition: int, start: int = 0, stop: int | None = None
    ) -> AsyncIterator[Stored]:
        for record in self.topics[str(topic), partition][start:stop]:
            yield record

    async def write(self, topic: str, records: Iterable[tuple[int, Outgoing]]) -> list[tuple[int, int]]:
        rows = list(records)
        self.before_write(topic)
        self.writes.append((str(topic), len(rows)))
        return [(partition, self.put(topic, partition, record)) for partition, record in rows]
