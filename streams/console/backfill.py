"""Reading history backwards while the board is in use, and how far each partition is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from streams.console.intake import ReadModelIntake
from streams.console.read_model.rows import WatermarkRow
from streams.console.read_plan import READ_PLAN, ReadStart
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers


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


_HOUR_MS: Final = 3_600_000
#: An hour in which less happened is read together with the one before it.
_LITTLE: Final = 5_000
_LONGEST_MS: Final = 24 * _HOUR_MS
#: How much of the event loop's time it takes at most.
_SHARE: Final = 0.5


class Backfill:
    """Reads what was written before the console began to follow the topics.

    Args:
        brokers: What to read from.
        intake: Folds what was read.
        marks: How far each partition was read back.
        topics: Which topic each name on the brokers is.
        reached: Told how far back history goes after each slice, ms since 1970; None when it is complete.
    """

    def __init__(
        self,
        brokers: Brokers,
        intake: ReadModelIntake,
        marks: ReadMarks,
        topics: dict[str, Topic],
        reached: Callable[[int | None], None],
    ) -> None:
        self._brokers = brokers
        self._intake = intake
        self._marks = marks
        self._topics = topics
        self._reached = reached

    async def run(self, recent: int, oldest: int) -> None:
        """Read from ``recent`` back to ``oldest``, both ms since 1970; what is read already is left out.

        Raises:
            InfrastructureError: the brokers do not answer; call it again.
        """
        floors = {name: await self._brokers.offsets_at(name, oldest) for name in self._names()}
        begin, width = recent, _HOUR_MS
        while floors and begin > oldest:
            begin = max(oldest, begin - width)
            before = self._intake.total
            for name in list(floors):
                if not await self._slice(name, begin, floors[name]):
                    del floors[name]
            self._reached(begin)
            width = min(2 * width, _LONGEST_MS) if self._intake.total - before < _LITTLE else _HOUR_MS
        self._reached(None)

    def _names(self) -> list[str]:
        known = {topic for topic, _ in self._marks.spans}
        return [
            name
            for name, topic in self._topics.items()
            if topic in known and READ_PLAN[topic] is ReadStart.NEWEST_FIRST
        ]

    async def _slice(self, name: str, begin: int, floor: dict[int, int]) -> bool:
        """Read a topic from a time on to where it was read from before; return whether some is left."""
        topic = self._topics[name]
        back_to = {
            partition: span.back_to
            for (each, partition), span in self._marks.spans.items()
            if each is topic and span.back_to > floor.get(partition, 0)
        }
        if not back_to:
            return False
        starts = await self._brokers.offsets_at(name, begin)
        ranges = {
            (name, partition): (max(floor.get(partition, 0), starts.get(partition, 0)), stop)
            for partition, stop in back_to.items()
        }
        async for batch, unreadable in self._brokers.read_ranges(ranges):
            await self._intake.take(batch, share=_SHARE)
            self._intake.leave_out(unreadable)
        self._marks.went_back(
            {(topic, partition): min(start, stop) for (_, partition), (start, stop) in ranges.items()}
        )
        return True
