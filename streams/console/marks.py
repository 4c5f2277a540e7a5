"""How far each partition is read, forwards and backwards: the console's own offsets, committed nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from streams.console.read_model.rows import WatermarkRow
from streams.core.domain.topic import Topic


class ReadSpan(NamedTuple):
    """What was read of a partition: from ``back_to`` up to ``next``, without that."""

    next: int
    back_to: int


class ReadMarks:
    """What was read of each partition, and of which topic: one that is created again has another id.

    >>> marks = ReadMarks()
    >>> marks.begin(Topic.ENRICHED, "id-1", {0: 500, 1: 70})
    >>> marks.advance({(Topic.ENRICHED, 0): 512})
    >>> marks.went_back({(Topic.ENRICHED, 0): 300})
    >>> marks.spans[Topic.ENRICHED, 0]
    ReadSpan(next=512, back_to=300)
    >>> marks.created_again({Topic.ENRICHED: "id-2"})
    {<Topic.ENRICHED: 'decision-logs-enriched'>}
    """

    def __init__(self) -> None:
        self.spans: dict[tuple[Topic, int], ReadSpan] = {}
        self._ids: dict[Topic, str] = {}

    @classmethod
    def of(cls, rows: Iterable[WatermarkRow], topics: Mapping[str, Topic]) -> ReadMarks:
        """Return the marks that an archive holds, of topics by their names."""
        marks = cls()
        for row in rows:
            if (topic := topics.get(row.topic)) is not None:
                marks.spans[topic, row.partition] = ReadSpan(row.next, row.back_to)
                marks._ids[topic] = row.topic_id
        return marks

    def rows(self, names: Mapping[Topic, str]) -> Iterator[WatermarkRow]:
        """Yield the marks as an archive holds them."""
        for (topic, partition), span in self.spans.items():
            yield WatermarkRow(names[topic], partition, self._ids.get(topic, ""), span.next, span.back_to)

    def begin(self, topic: Topic, topic_id: str, offsets: Mapping[int, int]) -> None:
        """Begin to read partitions of a topic at these offsets."""
        self._ids[topic] = topic_id
        self.spans |= {(topic, partition): ReadSpan(offset, offset) for partition, offset in offsets.items()}

    def advance(self, positions: Mapping[tuple[Topic, int], int]) -> None:
        """Take in how far partitions were read."""
        for place, position in positions.items():
            span = self.spans[place]
            self.spans[place] = ReadSpan(position, min(span.back_to, position))

    def went_back(self, positions: Mapping[tuple[Topic, int], int]) -> None:
        """Take in from which offset on history was read."""
        for place, position in positions.items():
            self.spans[place] = self.spans[place]._replace(back_to=position)

    def are_at(self, ends: Mapping[tuple[Topic, int], int], topic: Topic) -> bool:
        """Tell whether each partition of a topic is read to its end; not where one of the ends is unknown.

        >>> marks = ReadMarks()
        >>> marks.begin(Topic.SESSION_COMMANDS, "id-1", {0: 5, 1: 7})
        >>> marks.are_at({(Topic.SESSION_COMMANDS, 0): 5}, Topic.SESSION_COMMANDS)
        False
        >>> marks.are_at(
        ...     {(Topic.SESSION_COMMANDS, 0): 5, (Topic.SESSION_COMMANDS, 1): 7}, Topic.SESSION_COMMANDS
        ... )
        True
        """
        read = {place: span.next for place, span in self.spans.items() if place[0] is topic}
        return bool(read) and all(place in ends and at >= ends[place] for place, at in read.items())

    def created_again(self, ids: Mapping[Topic, str]) -> set[Topic]:
        """Return the topics that have another id now; where brokers give none, none can be told apart."""
        return {
            topic
            for topic, topic_id in ids.items()
            if topic_id and self._ids.get(topic) and self._ids[topic] != topic_id
        }

    def drop(self, topics: Iterable[Topic]) -> None:
        """Forget what was read of some topics."""
        dropped = set(topics)
        self.spans = {place: span for place, span in self.spans.items() if place[0] not in dropped}
        for topic in dropped:
            self._ids.pop(topic, None)
