"""Reading history backwards, newest first, while the board is in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from streams.console.intake import ReadModelIntake
from streams.console.marks import ReadMarks
from streams.console.read_plan import READ_PLAN, ReadStart
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers

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
