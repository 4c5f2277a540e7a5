"""What a consumer of the outputs sees while faults happen."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from streams.core.domain.topic import Topic
from streams.kafka.client import Stored
from streams.kafka.clock import now_ms
from streams.worker.state.changelog import decode_session, removed_value, session_id_of
from tests.integration.reference_fold import value_of
from tests.integration.worker_process import until

_POLL_MS = 100


class OutputWatch:
    """Follows input, enriched records and the sessions' changelog, without what transactions took back.

    Attributes:
        seen_ms: By partition and offset of an input record, a time at which it had been read here.
        reached: By partition, the highest input offset whose enriched record is published.
        repeated: Enriched records that were published before.
        outdated: Changelog records, tombstones too, that are older than one before them of the same session:
            what only a worker writes that has been replaced and does not know.
    """

    def __init__(self, bootstrap: str, partitions: int, changelog: str) -> None:
        self.seen_ms: dict[tuple[int, int], int] = {}
        self.reached = dict.fromkeys(range(partitions), -1)
        self.repeated = 0
        self.outdated = 0
        self._bootstrap = bootstrap
        self._changelog = changelog
        self._seen: Counter[tuple[int, int]] = Counter()
        #: By session, the newest offset in its state, and whether that was removed.
        self._applied: dict[tuple[int, bytes], tuple[int, bool]] = {}
        self._task: asyncio.Task[None] | None = None

    async def pass_by(self, marks: Mapping[int, int], within: float, what: str) -> None:
        """Wait until each partition has reached its mark.

        Raises:
            AssertionError: one does not within so many seconds.
        """

        def passed() -> bool:
            task = self._task
            assert task is not None
            if task.done():
                task.result()
            return all(self.reached[partition] >= mark for partition, mark in marks.items())

        try:
            await until(passed, within, what)
        except AssertionError as late:
            raise AssertionError(f"{late} Reached {self.reached} of {dict(marks)}.") from late

    async def emptied(self, sent: Mapping[int, int], within: float) -> list[str]:
        """Wait until the changelog holds no session any more, and all that was ``sent`` has been read here.

        Returns the sessions that are still there after so many seconds.
        """

        def left() -> list[str]:
            return [key.decode() for (_, key), (_, gone) in self._applied.items() if not gone]

        def read() -> bool:
            return all((partition, end - 1) in self.seen_ms for partition, end in sent.items() if end)

        await until(read, within, "the reader of the input")
        with suppress(AssertionError):
            await until(lambda: not left(), within, "the end of every session")
        return left()

    async def follow(self) -> None:
        """Take note of every record, for ever."""
        tps = [
            TopicPartition(topic, partition)
            for topic in (str(Topic.DECISION_LOGS), str(Topic.ENRICHED), self._changelog)
            for partition in self.reached
        ]
        async with AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=_POLL_MS,
            isolation_level="read_committed",
        ) as consumer:
            consumer.assign(tps)
            while True:
                found = await consumer.getmany(timeout_ms=_POLL_MS)
                read_ms = now_ms()
                for tp, records in found.items():
                    for record in records:
                        if tp.topic == Topic.DECISION_LOGS:
                            self.seen_ms[tp.partition, record.offset] = read_ms
                        elif tp.topic == Topic.ENRICHED:
                            self._see(record)
                        elif session_id_of(record.key) is not None:
                            self._apply(record)

    def _see(self, record: ConsumerRecord) -> None:
        name = value_of(Stored(record.partition, -1, 0, None, record.value, ()))["eddy"]["id"]
        partition, offset = map(int, name.split("/")[-3:-1])
        self.repeated += self._seen[partition, offset] > 0
        self._seen[partition, offset] += 1
        self.reached[partition] = max(self.reached[partition], offset)

    def _apply(self, record: ConsumerRecord) -> None:
        gone = record.value is None
        stored = removed_value(record.headers) if gone else record.value
        assert stored is not None, f"a tombstone that buries nothing: {record}"
        state = decode_session(stored).offset, gone
        key = record.partition, record.key
        # A state stands before its own tombstone.
        self.outdated += state < self._applied.get(key, (-1, False))
        self._applied[key] = state


@asynccontextmanager
async def watched(watch: OutputWatch) -> AsyncIterator[OutputWatch]:
    """Follow for as long as the block lasts."""
    watch._task = asyncio.create_task(watch.follow())
    try:
        yield watch
    finally:
        watch._task.cancel()
        await asyncio.gather(watch._task, return_exceptions=True)
