"""A console's feed on a broker, records for it, and the rows that it must arrive at."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path

from schemas.codec import Codec
from streams.console.archive.archive import Archive, WritePoint, going_on
from streams.console.archive.row_store import recall
from streams.console.intake import ReadModelIntake
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import Row
from streams.console.read_model.tables import TABLES, WATERMARK
from streams.console.read_plan import READ_PLAN
from streams.console.topic_follower import FollowerSettings, TopicFollower
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers, Stored
from streams.kafka.clock import now_ms
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.unit.console.told import Told, everything

#: Some of the records are of 1970.
EVERYTHING = FollowerSettings(history_days=25_000, from_beginning=True)
RECORDS = everything()


def at_the_end() -> int:
    """Return when the last of the records happened, so that nothing of them is too old to be kept."""
    return max(told.stored.timestamp for told in RECORDS)


class EveryValue(ReadModel):
    """Reads every value and forgets no session: rows do not depend on what was read first, or how fast."""

    def wants_value(self, source: Stored) -> bool:  # type: ignore[override]
        return True

    def forget(self, now: int) -> int:
        return 0


class Board:
    """A feed with its model and its archive."""

    def __init__(
        self,
        brokers: Brokers,
        directory: Path,
        settings: FollowerSettings = EVERYTHING,
        reached: Callable[[WritePoint], None] = going_on,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.archive = Archive(directory, reached)
        self.model = EveryValue(recall=recall(self.archive))
        self.feed = TopicFollower(
            brokers, Codec.bundled(), self.model, self.archive, settings, clock or at_the_end
        )


@contextlib.asynccontextmanager
async def running(
    brokers: Brokers,
    directory: Path,
    settings: FollowerSettings = EVERYTHING,
    clock: Callable[[], int] | None = None,
) -> AsyncIterator[Board]:
    """Run a feed for as long as the block lasts."""
    board = Board(brokers, directory, settings, clock=clock)
    task = asyncio.create_task(board.feed.run())
    try:
        yield board
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        board.archive.close()


async def caught_up(brokers: Brokers, feed: TopicFollower) -> None:
    """Wait until a feed has folded all that there is."""
    ends: dict[tuple[Topic, int], int] = {}
    for topic in READ_PLAN:
        async for stored in brokers.read(brokers.topic(topic)):
            ends[topic, stored.partition] = stored.offset + 1

    def there() -> bool:
        positions = feed.positions
        return all(positions.get(place, 0) >= end for place, end in ends.items())

    await until(there, PATIENCE_SECONDS, "the end of the topics")
    await until(lambda: feed.history_from is None, PATIENCE_SECONDS, "the beginning of history")


async def publish(
    brokers: Brokers, records: Iterable[Told], partitions: Mapping[Topic, int], spread_ms: int = 0
) -> None:
    """Write records to their topics; the oldest is so old, the newest is of now."""
    records = list(records)
    now = now_ms()
    by_topic: dict[Topic, list[tuple[int, Outgoing]]] = {}
    for number, told in enumerate(records):
        stored, at = told.stored, now - spread_ms * (len(records) - number) // len(records)
        by_topic.setdefault(told.topic, []).append(
            (
                stored.partition % partitions[told.topic],
                Outgoing(stored.key, stored.value, at, list(stored.headers)),
            )
        )
    for topic, of_topic in by_topic.items():
        await brokers.write(brokers.topic(topic), of_topic)


async def reference(brokers: Brokers) -> set[tuple[str, Row]]:
    """Return the rows of all that the topics hold, folded partition by partition."""
    names = {brokers.topic(topic): topic for topic in READ_PLAN}
    model = EveryValue()
    intake = ReadModelIntake(model, Codec.bundled(), names)
    for name in names:
        await intake.take([(name, stored) async for stored in brokers.read(name)])
    return comparable(model.rows())


def archived(directory: Path) -> set[tuple[str, Row]]:
    """Return the rows of an archive that nobody uses."""
    archive = Archive(directory)
    try:
        return comparable(row for table in TABLES if table is not WATERMARK for row in archive.rows(table))
    finally:
        archive.close()


def comparable(rows: Iterable[Row]) -> set[tuple[str, Row]]:
    """Return rows so that those of one table and of equal values are equal."""
    return {(type(row).__name__, row) for row in rows}


@contextlib.asynccontextmanager
async def killed(
    bootstrap: str, directory: Path, point: WritePoint, times: int
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a feed in a process that dies when it reaches a point so many times; wait for that at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.console_process",
        bootstrap,
        str(directory),
        point,
        str(times),
        cwd=Path(__file__).parents[2],
    )
    try:
        yield process
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await process.wait() == -signal.SIGKILL
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
