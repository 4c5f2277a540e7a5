"""How the console reads Kafka and remembers: follows its topics, reads history, and writes its archive."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from schemas.codec import Codec
from streams.console.archive.archive import ArchiveDamagedError
from streams.console.archive.row_store import RowStore, restored
from streams.console.archive_flush import ArchiveFlush
from streams.console.backfill import Backfill, ReadMarks
from streams.console.intake import Fold, ReadModelIntake
from streams.console.read_model.forgotten import Erasure
from streams.console.read_model.rows import Row, WatermarkRow
from streams.console.read_model.tables import WATERMARK, RowTable
from streams.console.read_plan import READ_PLAN, SOURCES, ReadStart
from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from streams.kafka.client import Brokers
from streams.kafka.clock import now_ms
from streams.kafka.reading import runs

log = logging.getLogger(__name__)

#: How far back the first reading begins, so that the board is of use soon.
_RECENT_MS: Final = 600_000
_DAY_MS: Final = 86_400_000
_PAUSE_SECONDS: Final = 2.0
_LAST_FLUSH_SECONDS: Final = 10.0
#: How often it looks whether there are new topics or partitions, or a topic was created again.
_LOOK_SECONDS: Final = 5.0
#: Brokers answer each fetch within a tenth of a second, whether there are records or not.
_SILENT_MS: Final = 10_000
#: How often it looks for sessions whose newest record was not read whole, and how many it then reads.
_CATCH_UP_SECONDS: Final = 1.0
_AT_ONCE: Final = 64


class Model(Fold, Protocol):
    """The part of the read model that the feed needs."""

    def erasing(self) -> Erasure:
        """Return what is to be deleted from the archive."""

    def erased(self, what: Erasure) -> None:
        """Take note that it is."""

    def draining(self) -> Iterator[tuple[RowTable, Row]]:
        """Return the rows that changed since the last time."""

    def restore(self, rows: Iterable[Row]) -> None:
        """Take rows back."""

    def rows(self) -> Iterator[Row]:
        """Yield every row."""

    def clear(self) -> None:
        """Forget everything."""

    def behind(self, now: int, most: int) -> Mapping[str, tuple[int, int]]:
        """Return sessions that matter and whose newest record was not read, each with the place of it."""

    def forget(self, now: int) -> int:
        """Forget what nobody needs and the archive has."""


@dataclass(frozen=True, slots=True)
class FollowerSettings:
    """How much is read and kept.

    Attributes:
        history_days: How far back history goes.
        live_minutes, live_max: Which sessions are in memory from the start.
        index: ``all`` reads the topic of enriched records; else sessions are known by what is told of them.
        from_beginning: Whether everything is read that there is, as on brokers that find no offset by time.
        topics: Topics that are to be read.
        recent_ms: How far back the first reading of a topic goes, where that is not as `READ_PLAN` says.
    """

    history_days: int = 7
    live_minutes: int = 15
    live_max: int = 200_000
    index: Literal["all", "alerts", "off"] = "all"
    from_beginning: bool = False
    topics: frozenset[Topic] = frozenset(READ_PLAN)
    recent_ms: Mapping[Topic, int] = field(default_factory=dict)


class _TopicsChangedError(Exception):
    """There are other topics or partitions than before: the reading has to begin again."""


class TopicFollower:
    """Reads for ever. Any number of instances may do so: none takes anything from another.

    Args:
        brokers: What to read from.
        codec: Reads the values of the records.
        model: Takes the records in.
        archive: Keeps rows, and how far each partition was read.
        settings: How much is read.
        clock: Returns the time in milliseconds since 1970.

    Attributes:
        intake: What was folded and what could not be, in numbers.
        history_from: How far back the history goes, ms since 1970; None if it is complete.
        listeners: Called whenever something was folded.
        archive: Keeps rows that are no longer in memory.
    """

    def __init__(
        self,
        brokers: Brokers,
        codec: Codec,
        model: Model,
        archive: RowStore,
        settings: FollowerSettings,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._brokers = brokers
        self._model = model
        self.archive = archive
        self._settings = settings
        self._clock = clock
        self._topics = {brokers.topic(topic): topic for topic in READ_PLAN if self._reads(topic)}
        self._names = {topic: name for name, topic in self._topics.items()}
        self._marks = ReadMarks()
        self._restored = False
        self._recent = 0
        self.intake = ReadModelIntake(model, codec, self._topics)
        self._flush = ArchiveFlush(
            model, archive, lambda: list(self._marks.rows(self._names)), settings, clock
        )
        self.history_from: int | None = None
        self.listeners: list[Callable[[], None]] = []
        self._ends: dict[tuple[Topic, int], int] = {}
        self._answered: dict[Topic, int] = {}
        self._advanced = asyncio.Event()

    def _reads(self, topic: Topic) -> bool:
        settings = self._settings
        return topic in settings.topics and (topic is not Topic.ENRICHED or settings.index == "all")

    # -- questions

    @property
    def positions(self) -> Mapping[tuple[Topic, int], int]:
        """By topic and partition, the offset after what was folded."""
        return {place: span.next for place, span in self._marks.spans.items()}

    @property
    def begun(self) -> bool:
        """Whether the brokers have told where any partition ends."""
        return bool(self._ends)

    def lag(self) -> dict[Topic, int]:
        """Return how many records of each topic are not folded yet, as the brokers told last."""
        behind: dict[Topic, int] = {}
        for place, end in self._ends.items():
            if (span := self._marks.spans.get(place)) is not None:
                behind[place[0]] = behind.get(place[0], 0) + max(0, end - span.next)
        return behind

    def is_at_end(self, topic: Topic) -> bool:
        """Tell whether all of a topic is folded; not before the end of each partition is known."""
        return self._marks.are_at(self._ends, topic)

    def silent_ms(self, *topics: Topic) -> int | None:
        """Return for how long brokers have not answered about some topics, ms; None if they do.

        What was read is not current then, though it goes as far as the ends that the brokers told last.
        """
        answered = [self._answered[topic] for topic in topics if topic in self._answered]
        silent = now_ms() - min(answered) if answered else 0
        return silent if silent > _SILENT_MS else None

    async def passed(self, topic: Topic, partition: int, offset: int, *, seconds: float = 2.0) -> bool:
        """Wait until a record is folded, so that its writer sees it; False if that takes too long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._has_passed(topic, partition, offset):
                    await self._advanced.wait()
                return True
        return False

    def _has_passed(self, topic: Topic, partition: int, offset: int) -> bool:
        span = self._marks.spans.get((topic, partition))
        return span is not None and span.next > offset

    async def caught_up(self, topics: Iterable[Topic]) -> None:
        """Wait until all that stands on some topics by now is folded.

        Raises:
            InfrastructureError: the brokers do not say where they end.
        """
        for topic in topics:
            for partition, end in (await self._brokers.ends(self._names[topic])).items():
                while end > 0 and not self._has_passed(topic, partition, end - 1):
                    await self._advanced.wait()

    async def kept(self) -> None:
        """Bring what was folded into the archive, now."""
        await self._flush.flush()

    # -- reading

    async def run(self) -> None:
        """Read until cancelled.

        Raises:
            InfrastructureError: the brokers do not let this user read a topic.
        """
        while True:
            try:
                await self._follow(await self._begin())
            except _TopicsChangedError:
                log.info("There are other topics or partitions than before: they are read, too.")
            except ArchiveDamagedError as error:
                self._rebuild(error)

    async def _begin(self) -> dict[str, tuple[int, str]]:
        """Get ready to read: drop what is of other topics, restore, and choose where to begin."""
        while True:
            try:
                layout = await self._brokers.layout(self._topics)
                if not self._restored:
                    watermarks = self.archive.rows(WATERMARK)
                    kept = (row for row in watermarks if isinstance(row, WatermarkRow))
                    self._marks = ReadMarks.of(kept, self._topics)
                await self._drop_old(layout)
                await self._restore()
                await self._choose(layout)
            except InfrastructureError as error:
                log.warning("%s They are asked again.", error)
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return layout

    async def _drop_old(self, layout: Mapping[str, tuple[int, str]]) -> None:
        again = self._marks.created_again({self._topics[name]: tid for name, (_, tid) in layout.items()})
        for source in SOURCES:
            if not again & source.topics:
                continue
            log.warning(
                "%s was created again: what is known from there is dropped and read again.",
                ", ".join(sorted(self._names[topic] for topic in again & source.topics)),
            )
            dropped = [topic for topic in source.topics if topic in self._names]
            await self._flush.drop(source.tables, [self._names[topic] for topic in dropped])
            self._marks.drop(dropped)
            self._restored = False

    async def _restore(self) -> None:
        if self._restored:
            return
        settings = self._settings
        self._model.clear()
        for rows in restored(self.archive, self._clock(), settings.live_minutes, settings.live_max):
            self._model.restore(rows)
            await asyncio.sleep(0)
        self._restored = True

    async def _choose(self, layout: Mapping[str, tuple[int, str]]) -> None:
        now, deep = self._clock(), self._settings.recent_ms
        self._recent = now - _RECENT_MS
        for name, (count, topic_id) in layout.items():
            topic = self._topics[name]
            new = [partition for partition in range(count) if (topic, partition) not in self._marks.spans]
            if not new:
                continue
            offsets = dict.fromkeys(new, 0)
            is_bounded = topic in deep or READ_PLAN[topic] is ReadStart.NEWEST_FIRST
            if is_bounded and not self._settings.from_beginning:
                recent = await self._brokers.offsets_at(name, now - deep.get(topic, _RECENT_MS))
                offsets |= {partition: recent.get(partition, 0) for partition in new}
            self._marks.begin(topic, topic_id, offsets)

    async def _follow(self, layout: Mapping[str, tuple[int, str]]) -> None:
        """Read until something has to begin again."""
        reading = [
            asyncio.create_task(each)
            for each in (
                self._tail(layout),
                self._backfill(),
                self._catch_up(layout),
                self._watch(layout),
                self._flush.run(),
            )
        ]
        try:
            done, _ = await asyncio.wait(reading, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
            # Damage shows again where it is dealt with; a disk that takes nothing must not keep the process.
            with contextlib.suppress(ArchiveDamagedError, TimeoutError):
                await asyncio.wait_for(self._flush.flush(), _LAST_FLUSH_SECONDS)
        for task in done:
            task.result()

    async def _tail(self, layout: Mapping[str, tuple[int, str]]) -> None:
        tail = self._brokers.tail(
            {
                (self._names[topic], partition): span.next
                for (topic, partition), span in self._marks.spans.items()
                if partition < layout.get(self._names[topic], (0, ""))[0]
            }
        )
        try:
            async for batch in tail:
                await self.intake.take(batch, is_new=True)
                self.intake.leave_out(tail.unreadable)
                self._marks.advance(
                    {(self._topics[name], at): to for (name, at), to in tail.positions.items()}
                )
                self._ends = {(self._topics[name], at): to for (name, at), to in tail.ends.items()}
                self._answered = self._oldest(tail.answered)
                self._tell()
        finally:
            await tail.aclose()

    def _oldest(self, answered: Mapping[tuple[str, int], int]) -> dict[Topic, int]:
        """Return by topic when the partition that was silent for longest was last answered about.

        Each stream of a guard asks for it twice a second, so it does not look at every partition.
        """
        oldest: dict[Topic, int] = {}
        for (name, _), at in answered.items():
            topic = self._topics[name]
            oldest[topic] = min(at, oldest.get(topic, at))
        return oldest

    async def _backfill(self) -> None:
        if self._settings.from_beginning or self._settings.history_days == 0:
            return
        oldest = max(0, self._recent - self._settings.history_days * _DAY_MS)
        backfill = Backfill(self._brokers, self.intake, self._marks, self._topics, self._went_back)
        self._went_back(self._recent)
        while True:
            try:
                await backfill.run(self._recent, oldest)
            except InfrastructureError as error:
                log.warning("%s The console reads history again in a moment.", error)
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return

    async def _catch_up(self, layout: Mapping[str, object]) -> None:
        """Read the newest record of sessions that matter where only samples were read before they did."""
        name = self._names.get(Topic.ENRICHED)
        if name is None or name not in layout:
            return
        seats, tried = asyncio.Semaphore(_AT_ONCE), dict[str, tuple[int, int]]()
        while True:
            await asyncio.sleep(_CATCH_UP_SECONDS)
            behind = self._model.behind(self._clock(), _AT_ONCE + len(tried))
            # What is no longer held, or cannot be read, is asked for once.
            wanted = {place for session_id, place in behind.items() if tried.get(session_id) != place}
            if wanted:
                with contextlib.suppress(InfrastructureError, TimeoutError):
                    await self._read_whole(name, wanted, seats)
                    tried = dict(behind)

    async def _read_whole(self, name: str, wanted: set[tuple[int, int]], seats: asyncio.Semaphore) -> None:
        async with asyncio.timeout(_SILENT_MS / 1000):
            found = await self._brokers.read_runs(
                name,
                runs(wanted, closer=1),
                lambda each: (each.partition, each.offset) in wanted,
                seats=seats,
                done=lambda _run: None,
            )
        await self.intake.take([(name, stored) for stored in found])
        self._tell()

    def _went_back(self, to: int | None) -> None:
        self.history_from = to
        self._tell()

    async def _watch(self, layout: Mapping[str, tuple[int, str]]) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            with contextlib.suppress(InfrastructureError):
                if await self._brokers.layout(self._topics) != layout:
                    raise _TopicsChangedError

    def _rebuild(self, error: ArchiveDamagedError) -> None:
        """Begin with an empty archive: what is in memory is written, and history is read again."""
        self.archive.rebuild(error)
        self._flush.start_over()
        self._marks = ReadMarks()

    def _tell(self) -> None:
        self._advanced.set()
        self._advanced = asyncio.Event()
        for listener in self.listeners:
            listener()
