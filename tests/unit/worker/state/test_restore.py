"""When a partition of a changelog is restored, without a broker."""

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from streams.core.errors import StateError
from streams.kafka.patches.careful_fetch import WholeBatch
from streams.kafka.patches.record_batches import Batches, BatchWatch
from streams.worker.state import restore as restoring
from streams.worker.state.changelog import SESSION_FORMAT
from streams.worker.state.restore import _at_end, restore
from tests.hostile.raw_batch import batch, record

TP = TopicPartition("eddy-sessions-changelog", 0)


class Consumer:
    """Stands behind what the last fetch told."""

    def __init__(self, told: int | None, *, position: int, end: int, raw: bytes = b"") -> None:
        self._told, self._position, self._end, self._raw = told, position, end, raw

    def highwater(self, _tp: TopicPartition) -> int | None:
        return self._told

    async def position(self, _tp: TopicPartition) -> int:
        return self._position

    async def end_offsets(self, _tps: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {TP: self._end}

    async def beginning_offsets(self, _tps: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {TP: 0}

    def assign(self, _tps: list[TopicPartition]) -> None:
        """Nothing is asked for before that."""

    def deliver_batches(self) -> None:
        """As it does anyway."""

    def seek(self, _tp: TopicPartition, _offset: int) -> None:
        """It stands where it was made to stand."""

    async def getmany(self, tp: TopicPartition, **_: Any) -> dict[TopicPartition, list[Any]]:
        if self._raw:
            batches = Batches(tp, self._raw, 0, self._end, BatchWatch(together=True))
            return {tp: [WholeBatch(batches.next_batch())] if batches.has_next() else []}
        return {tp: [[SimpleNamespace(offset=0, key=b"sa", value=b"[1,0,7]", timestamp=1, headers=())]]}


class Store:
    """A database that takes its time to write."""

    path = Path("data/0.db")

    def __init__(self) -> None:
        self.writing, self.may_end, self.ended = threading.Event(), threading.Event(), False

    def offset(self) -> None:
        return None

    written_at = offset

    def is_empty(self) -> bool:
        return True

    def restore(
        self, _records: Iterable[Any], _offset: int, _at_ms: int, *, untimed_ms: int, logged: bool
    ) -> None:
        self.writing.set()
        self.may_end.wait()
        self.ended = logged


class Stores(dict[int, Store]):
    """Databases none of which is damaged."""

    to_restore = dict.__getitem__


async def at_end(told: int | None, *, position: int, end: int) -> bool:
    part: Any = SimpleNamespace(tp=TP, store=SimpleNamespace(path=Path("data/0.db")))
    consumer: Any = Consumer(told, position=position, end=end)
    return await _at_end(consumer, part, end)


@pytest.mark.parametrize(
    ("told", "position", "done"), [(None, 10, False), (10, 9, False), (12, 10, False), (10, 10, True)]
)
async def test_a_partition_is_restored_at_the_end_that_a_fetch_told(
    told: int | None, position: int, done: bool
) -> None:
    assert await at_end(told, position=position, end=10) == done


async def test_a_new_leader_that_says_too_little_is_waited_for() -> None:
    assert not await at_end(8, position=10, end=10)


async def test_state_behind_the_end_of_the_changelog_is_refused() -> None:
    with pytest.raises(StateError, match=r"continues at offset 10, but the changelog ends at 8.*delete data"):
        await at_end(8, position=10, end=8)


@pytest.mark.parametrize("turns", range(6))
async def test_nobody_writes_any_more_when_a_restore_has_ended_however_often_it_was_cancelled(
    turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store()

    class Writers(restoring.ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            store.may_end.set()
            super().shutdown(wait, cancel_futures=cancel_futures)

    monkeypatch.setattr(restoring, "ThreadPoolExecutor", Writers)
    consumer: Any = Consumer(1, position=0, end=1)
    stores: Any = Stores({0: store})
    running = asyncio.create_task(restore(consumer, TP.topic, [0], stores, form=SESSION_FORMAT))
    await asyncio.to_thread(store.writing.wait)
    running.cancel()
    for _ in range(turns):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    try:
        assert running.cancelled()
        assert store.ended
    finally:
        store.may_end.set()


@pytest.mark.parametrize(
    "raw",
    [
        batch(b"no zstd", 1, timestamp=1, codec="zstd"),
        batch(record(b"sa", b"[1,0,7]", [(b"\xff", b"")]), 1, timestamp=1),
        batch(b"\x7fno record", 1, timestamp=1),
    ],
    ids=["compression", "header", "record"],
)
async def test_state_that_no_client_reads_stops_the_worker_and_is_not_skipped(raw: bytes) -> None:
    consumer: Any = Consumer(1, position=0, end=1, raw=raw)
    store = Store()
    stores: Any = Stores({0: store})
    with pytest.raises(StateError, match=r"\[0\] cannot be read: the batch that ends at offset 0 is damaged"):
        await restore(consumer, TP.topic, [0], stores, form=SESSION_FORMAT)
    assert not store.writing.is_set()
