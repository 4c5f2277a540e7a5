"""What a consumer of the outputs sees while faults happen."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from streams.domain.topic import Topic
from streams.engine.changelog import SETTINGS_KEY, decode_session
from streams.engine.client import Stored
from tests.integration.reference_fold import value_of
from tests.integration.worker_process import until

_POLL_MS = 100


class OutputWatch:
    """Follows the enriched records and the changelog of the sessions.

    Attributes:
        reached: Of each partition, the highest input offset whose enriched record is published.
        repeated: Enriched records that were published before.
        outdated: Changelog records that are older than one before them of the same session: what only a
            worker writes that has been replaced and does not know.
    """

    def __init__(self, bootstrap: str, partitions: int, changelog: str) -> None:
        self.reached = dict.fromkeys(range(partitions), -1)
        self.repeated = 0
        self.outdated = 0
        self._bootstrap = bootstrap
        self._changelog = changelog
        self._seen: Counter[tuple[int, int]] = Counter()
        self._applied: dict[tuple[int, bytes], int] = {}
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

    async def follow(self) -> None:
        """Take note of every record, for ever."""
        tps = [
            TopicPartition(topic, partition)
            for topic in (str(Topic.ENRICHED), self._changelog)
            for partition in self.reached
        ]
        async with AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=_POLL_MS
        ) as consumer:
            consumer.assign(tps)
            while True:
                for tp, records in (await consumer.getmany(timeout_ms=_POLL_MS)).items():
                    for record in records:
                        if tp.topic == Topic.ENRICHED:
                            self._see(record)
                        elif record.key != SETTINGS_KEY and record.value is not None:
                            self._apply(record)

    def _see(self, record: ConsumerRecord) -> None:
        name = value_of(Stored(record.partition, -1, 0, None, record.value, ()))["eddy"]["id"]
        partition, offset = map(int, name.split("/")[-3:-1])
        self.repeated += self._seen[partition, offset] > 0
        self._seen[partition, offset] += 1
        self.reached[partition] = max(self.reached[partition], offset)

    def _apply(self, record: ConsumerRecord) -> None:
        offset = decode_session(record.value).offset
        key = record.partition, record.key
        self.outdated += offset < self._applied.get(key, -1)
        self._applied[key] = offset


@asynccontextmanager
async def watched(watch: OutputWatch) -> AsyncIterator[OutputWatch]:
    """Follow for as long as the block lasts."""
    watch._task = asyncio.create_task(watch.follow())
    try:
        yield watch
    finally:
        watch._task.cancel()
        await asyncio.gather(watch._task, return_exceptions=True)
