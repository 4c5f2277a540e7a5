"""Bringing databases up to the end of the changelog.

A consumer of its own, outside the group, reads the changelog partitions from where the local databases end.
Batches are unpacked and written in two threads, while the event loop fetches the next ones: unpacking,
RocksDB and the network each leave Python alone for most of their time. What is restored from far back is
written without RocksDB's log and flushed at the end, since a crash on the way only restores again.

A partition is done when the consumer's position has reached its end, so compacted tails and transaction
markers, which hold no record, cannot keep it waiting. What counts of it is `LatestRecords`'s to tell.

Which records of a changelog partition count: of each key the one of the most records of the source.

The last writer is not always right: a worker that was considered dead may write after its successor, and a
replay writes again. Epochs write in the order of the source (`TableFormat.order`), so along the changelog the
offsets of the source only fall where one of these has written. A record at or above every offset before it
cannot be outdated; only the others are compared with what is known of their key, which costs a look-up.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, Protocol

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, OffsetOutOfRangeError

from streams.core.errors import InfrastructureError, StateError
from streams.kafka.clock import now_ms
from streams.kafka.patches.careful_fetch import CarefulConsumer, WholeBatch
from streams.worker.state.changelog import (
    Restorable,
    TableFormat,
    lacks_entries,
    may_have_missed,
    removed_value,
)
from streams.worker.state.store import PartitionStore, PartitionStores


class ChangelogRecord(Restorable, Protocol):
    """A record of the changelog."""

    @property
    def headers(self) -> Iterable[tuple[str, bytes | None]]:
        """The headers; for those of a tombstone see `removed_value`."""


class LatestRecords:
    """Follows one partition of a changelog from where its database ends.

    Args:
        form: The format of the table.
        store: The database. If it is not empty, the highest offsets are unknown and all is compared.
    """

    def __init__(self, form: TableFormat[Any], store: PartitionStore) -> None:
        self._outdated = form.outdated
        self._source = form.source
        self._store = store
        self._highest: dict[bytes, int] | None = {} if store.is_empty() else None

    def of(self, records: Sequence[ChangelogRecord]) -> Sequence[ChangelogRecord]:
        """Return the records that count, in their order. The last one of a key holds.

        Args:
            records: The next of the partition; the database holds what counts of those before.
        """
        if self._highest is not None:
            doubtful = self._doubtful(records, self._highest)
            if not doubtful:
                return records
        else:
            doubtful = list(dict.fromkeys(record.key for record in records))
        return self._compared(records, doubtful)

    def _doubtful(self, records: Sequence[ChangelogRecord], highest: dict[bytes, int]) -> list[bytes]:
        """Return the keys of which a record may be outdated."""
        source, doubtful = self._source, []
        for record in records:
            value = record.value
            if value is None and (value := removed_value(record.headers)) is None:
                continue  # a tombstone that another program wrote always counts
            found = source(record.key, value)
            if found is None:
                doubtful.append(record.key)
                continue
            partition, offset = found
            if offset >= highest.get(partition, -1):
                highest[partition] = offset
            else:
                doubtful.append(record.key)
        return doubtful

    def _compared(
        self, records: Sequence[ChangelogRecord], keys: Sequence[bytes]
    ) -> Sequence[ChangelogRecord]:
        known = dict(zip(keys, self._store.get_many(keys), strict=True))
        outdated, counting = self._outdated, []
        for record in records:
            key = record.key
            if key in known:
                before = known[key]
                # A tombstone of ours says how far the state was that went, as the state itself would.
                value = removed_value(record.headers) if record.value is None else record.value
                if value is not None and before is not None and outdated(key, value, before):
                    continue
                known[key] = value
            counting.append(record)
        return counting


#: Short: a partition without anything to read shows that by an empty fetch, which does not end a poll.
_POLL_MS = 20

#: Threads that write: what the GIL leaves to do beside it keeps two cores busy.
_WRITERS = 2

#: Records written together.
_TOGETHER = 500

#: From so many offsets on a database is written without a log and flushed at the end.
_MANY = 10_000

#: How long a partition may stand still before the log says what it waits for.
_PATIENCE_SECONDS = 10.0

#: Between two lines about a restore that takes long. What takes less is worth none.
_EVERY_SECONDS = 10.0

log = logging.getLogger(__name__)


class RestoreProgress:
    """Counts the offsets of a changelog that are read, and reports every ten seconds how many are left.

    Args:
        topic: Name of the changelog that is read.
        now: Seconds, by a monotonic clock.
    """

    def __init__(self, topic: str, now: Callable[[], float] = time.monotonic) -> None:
        self._topic = topic
        self._now = now
        self._began_at = self._said_at = now()
        self._total = self._done = 0

    def expect(self, offsets: int) -> None:
        """Take note that so many more have to be read."""
        self._total += offsets

    def advance(self, offsets: int) -> None:
        """Take note that so many more are read, and report when it is time."""
        self._done += offsets
        now = self._now()
        if now - self._said_at < _EVERY_SECONDS or self._done >= self._total:
            return
        self._said_at = now
        rate = self._done / (now - self._began_at)
        left = (
            f"{(self._total - self._done) / rate:,.0f} s left at {rate:,.0f} a second" if rate else "waiting"
        )
        log.info(
            "Restoring from %s: %s of %s offsets (%d %%), %s.",
            self._topic,
            f"{self._done:,}",
            f"{self._total:,}",
            100 * self._done // self._total,
            left,
        )


async def restore(
    consumer: CarefulConsumer,
    topic: str,
    partitions: Collection[int],
    stores: PartitionStores,
    *,
    form: TableFormat[Any],
    tombstones_kept_ms: Callable[[], Awaitable[int]] | None = None,
    newest: MutableMapping[int, LatestRecords] | None = None,
    progress: RestoreProgress | None = None,
) -> int:
    """Bring the databases of ``partitions`` up to the end of the changelog; return the records read.

    Args:
        consumer: Started, without a group and without a subscription, not used for anything else.
        topic: Name of the changelog to read.
        partitions: Which of its partitions.
        stores: The databases that the records are written to.
        form: The format of the table.
        tombstones_kept_ms: Asks how long the changelog keeps what tells of a deletion. A database that has
            been behind for longer is discarded and restored from the beginning. Without, none is.
        newest: What an earlier call followed and no other worker has written to since, by partition.
        progress: Told how much there is to read, and what is read.

    A database that is damaged is set aside first, and restored from the beginning.

    Raises:
        DamagedStateError: one turns out to be damaged on the way. Another call sets it aside.
        StateError: a database is ahead of the changelog: it belongs to another cluster or a topic that was
            deleted since.
        InfrastructureError: the changelog cannot be read.
    """
    if not partitions:
        return 0
    consumer.deliver_batches()
    tps = [TopicPartition(topic, partition) for partition in sorted(partitions)]
    consumer.assign(tps)
    newest = {} if newest is None else newest
    since, stop = now_ms(), threading.Event()
    ends: Mapping[TopicPartition, int] = {}
    writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="restore")
    tasks: list[asyncio.Task[int]] = []
    try:
        for tp in tps:
            if stores.to_restore(tp.partition).offset() is None:
                newest.pop(tp.partition, None)  # it may follow one that was set aside
        beginnings = await consumer.beginning_offsets(tps)
        ends = await consumer.end_offsets(tps)
        await _discard_outdated(ends, stores, newest, since, tombstones_kept_ms)
        for tp in tps:
            store = stores[tp.partition]
            stored = store.offset()
            start = beginnings[tp] if stored is None else max(beginnings[tp], stored + 1)
            consumer.seek(tp, start)
            if tp.partition not in newest:
                newest[tp.partition] = LatestRecords(form, store)
            part = _Partition(
                tp, store, newest[tp.partition], start, since, logged=ends[tp] - start < _MANY, stop=stop
            )
            if progress is not None:
                progress.expect(max(0, ends[tp] - start))
            tasks.append(asyncio.create_task(_catch_up(consumer, part, ends[tp], writers, progress)))
        return sum(await asyncio.gather(*tasks))
    except OffsetOutOfRangeError as error:
        tp, position = next(iter(error.args[0].items()))
        raise _ahead(tp, position, ends[tp], stores.directory) from error
    except KafkaError as error:
        raise InfrastructureError(
            f"Restoring from {topic} failed: {error!r}. Check the brokers; the worker restores again "
            "when it restarts."
        ) from error
    finally:
        stop.set()
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:  # who was cancelled may be cancelled again here
            # The next caller has the databases for itself: a thread ends within one write.
            writers.shutdown()


class _Partition:
    """Writes one partition's batches to its database, in whatever thread."""

    def __init__(
        self,
        tp: TopicPartition,
        store: PartitionStore,
        newest: LatestRecords,
        start: int,
        since: int,
        *,
        logged: bool,
        stop: threading.Event,
    ) -> None:
        self.tp = tp
        self.store = store
        self._newest = newest
        #: The offset after the last one that is written.
        self.next = start
        #: When the restore began, ms.
        self._since = since
        self._logged = logged
        self._stop = stop

    def write(self, batches: Iterable[WholeBatch]) -> int:
        """Write what counts of the batches; return how many records they hold."""
        read, records = 0, self._records(batches)
        while not self._stop.is_set() and (part := list(islice(records, _TOGETHER))):
            last = part[-1]
            # A record whose time was refused has none: as if it were written now, its state stays longer.
            written_ms = self._since if last.timestamp < 0 else last.timestamp
            self.store.restore(
                self._newest.of(part), last.offset, written_ms, untimed_ms=self._since, logged=self._logged
            )
            self.next = last.offset + 1
            read += len(part)
        return read

    def _records(self, batches: Iterable[WholeBatch]) -> Iterator[Any]:
        """Yield the records of batches that were not written before.

        Raises:
            StateError: a batch cannot be unpacked.
        """
        for batch in batches:
            try:
                yield from (record for record in batch if record.offset >= self.next)
            except Exception as error:
                raise _unreadable(self.tp, batch.offset, error) from error

    def finish(self, position: int) -> None:
        """Take note that nothing stands between what was written and ``position``, as of the beginning."""
        if position > 0:
            self.store.restore((), position - 1, self._since, logged=self._logged)
        self.store.flush()


async def _catch_up(
    consumer: CarefulConsumer,
    part: _Partition,
    end: int,
    writers: ThreadPoolExecutor,
    progress: RestoreProgress | None,
) -> int:
    loop, tp, read = asyncio.get_running_loop(), part.tp, 0
    moved_at, warned = loop.time(), False
    while not await _at_end(consumer, part, end):
        fetched = await consumer.getmany(tp, timeout_ms=_POLL_MS)
        if batches := fetched.get(tp):
            before = part.next
            read += await loop.run_in_executor(writers, part.write, batches)
            moved_at = loop.time()
            if progress is not None:
                progress.advance(part.next - before)
        elif not warned and loop.time() - moved_at > _PATIENCE_SECONDS:
            warned = True
            log.warning(
                "Restoring %s[%s] waits at offset %s for %s: a transaction that a dead producer left open "
                "ends with its timeout, or the leader does not answer.",
                tp.topic,
                tp.partition,
                await consumer.position(tp),
                consumer.highwater(tp),
            )
    position = await consumer.position(tp)
    consumer.pause(tp)
    await loop.run_in_executor(writers, part.finish, position)
    return read


async def _at_end(consumer: CarefulConsumer, part: _Partition, end: int) -> bool:
    tp = part.tp
    highwater: int | None = consumer.highwater(tp)
    if highwater is None:
        return False  # no answer yet
    position: int = await consumer.position(tp)
    if position > highwater:
        # A leader that is new may not know yet how far all replicas are, and says too little to a fetch. To
        # a look-up it answers when it knows.
        known: int = (await consumer.end_offsets([tp]))[tp]
        if position > known:
            raise _ahead(tp, position, known, part.store.path.parent)
        return False
    # The fetch tells the end better than the look-up: that leaves out open transactions, and some brokers
    # answer it with the start of the last batch.
    return position >= max(end, highwater)


async def _discard_outdated(
    ends: Mapping[TopicPartition, int],
    stores: PartitionStores,
    newest: MutableMapping[int, LatestRecords],
    now: int,
    tombstones_kept_ms: Callable[[], Awaitable[int]] | None,
) -> None:
    """Discard the databases that may have missed a deletion."""
    behind: dict[TopicPartition, int] = {}
    for tp, end in ends.items():
        store = stores[tp.partition]
        offset, written_at = store.offset(), store.written_at()
        if offset is not None and written_at is not None and lacks_entries(offset, end):
            behind[tp] = now - written_at
    if not behind or tombstones_kept_ms is None:
        return
    kept = await tombstones_kept_ms()
    for tp, age in behind.items():
        if may_have_missed(age, kept):
            log.warning(
                "%s was up to date %.1f h ago and has missed something since; %s keeps deletions for %.1f h "
                "(delete.retention.ms). The local state is discarded and restored from the beginning.",
                stores[tp.partition].path,
                age / 3_600_000,
                tp.topic,
                kept / 3_600_000,
            )
            stores.discard(tp.partition)
            newest.pop(tp.partition, None)


def _unreadable(tp: TopicPartition, last: int, error: Exception) -> StateError:
    return StateError(
        f"{tp.topic}[{tp.partition}] cannot be read: the batch that ends at offset {last} is damaged "
        f"({type(error).__name__} {error}). It holds state of this job, so nothing of it is skipped. Check "
        "the disks of the brokers with kafka-dump-log.sh, and let a replica lead that is intact. If there is "
        "none, start again under another EDDY_APPLICATION_ID."
    )


def _ahead(tp: TopicPartition, position: int, end: int, directory: object) -> StateError:
    return StateError(
        f"The local state of {tp.topic}[{tp.partition}] continues at offset {position}, but the changelog "
        f"ends at {end}: the topic was deleted, or the state belongs to another cluster. Check the brokers; "
        f"if the topic was recreated on purpose, delete {directory} and start again."
    )
