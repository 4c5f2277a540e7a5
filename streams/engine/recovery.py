"""Restoring partitions from the changelog, by the batch.

Faust restores through its per-record delivery path (70 µs a record). Here a consumer of its own, outside the
group, reads the changelog partitions from where the local databases end and writes each fetched batch
straight into RocksDB. It is done when its position has reached the end of the partition, so compacted
tails and transaction markers, which hold no record, cannot keep it waiting.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError, OffsetOutOfRangeError
from faust.tables.manager import TableManager
from faust.tables.recovery import RebalanceAgain, Recovery, ServiceStopped
from faust.types import TP
from mode import Service

from streams.engine.store import PartitionStore, PartitionStores
from streams.errors import InfrastructureError, StateError

_POLL_MS = 500
_MAX_RECORDS = 20_000

Outdated = Callable[[bytes, bytes, bytes], bool]


async def restore(
    consumer: AIOKafkaConsumer,
    topic: str,
    partitions: Collection[int],
    stores: PartitionStores,
    *,
    outdated: Outdated = lambda *_: False,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Bring the databases of ``partitions`` up to the end of the changelog; return the records applied.

    Args:
        consumer: Started, without a group and without a subscription.
        topic: The changelog.
        partitions: Which of its partitions.
        stores: Where to.
        outdated: Tells of a key, its bytes and those already known whether the first are older. A worker that
            was taken for dead may have written such records after its successor; they do not count.
        progress: Told the number of records applied after each batch.

    Raises:
        StateError: a database is ahead of the changelog: it belongs to another cluster or a topic that was
            deleted since.
        InfrastructureError: the changelog cannot be read.
    """
    if not partitions:
        return 0
    assigned = [TopicPartition(topic, partition) for partition in partitions]
    consumer.assign(assigned)
    applied = 0
    try:
        ends = await consumer.end_offsets(assigned)
        remaining = await _seek(consumer, ends, stores)
        while remaining:
            fetched = await consumer.getmany(*remaining, timeout_ms=_POLL_MS, max_records=_MAX_RECORDS)
            for tp, records in fetched.items():
                store = stores[tp.partition]
                store.write(_newest(records, store, outdated), records[-1].offset)
                applied += len(records)
            progress(applied)
            for tp in list(remaining):
                if await _at_end(consumer, tp, ends[tp], stores):
                    remaining.discard(tp)
                    consumer.pause(tp)
    except OffsetOutOfRangeError as error:
        tp, position = next(iter(error.args[0].items()))
        raise _ahead(tp, position, ends[tp], stores) from error
    except KafkaError as error:
        raise InfrastructureError(
            f"Restoring from {topic} failed: {error!r}. Check the brokers; the worker restores again "
            "when it restarts."
        ) from error
    return applied


def _newest(
    records: Sequence[Any], store: PartitionStore, outdated: Outdated
) -> list[tuple[bytes, bytes | None]]:
    """Return keys and values without those that are older than what stands before them or is stored."""
    keys = list(dict.fromkeys(record.key for record in records))
    known = dict(zip(keys, store.get_many(keys), strict=True))
    for record in records:
        key, value, before = record.key, record.value, known[record.key]
        if value is None or before is None or not outdated(key, value, before):
            known[key] = value
    return list(known.items())


async def _seek(
    consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int], stores: PartitionStores
) -> set[TopicPartition]:
    """Move each partition to where its database ends; return those that have something to read."""
    beginnings = await consumer.beginning_offsets(list(ends))
    remaining = set()
    for tp, end in ends.items():
        stored = stores[tp.partition].offset()
        start = beginnings[tp] if stored is None else max(beginnings[tp], stored + 1)
        consumer.seek(tp, start)
        if start == end:
            consumer.pause(tp)
        else:
            remaining.add(tp)
    return remaining


async def _at_end(consumer: AIOKafkaConsumer, tp: TopicPartition, end: int, stores: PartitionStores) -> bool:
    highwater: int | None = consumer.highwater(tp)
    if highwater is None:
        return False  # no answer yet
    position: int = await consumer.position(tp)
    if position > highwater:
        raise _ahead(tp, position, highwater, stores)
    # The fetch tells the end better than the look-up on brokers whose look-up answers with the start of
    # the last batch.
    return position >= max(end, highwater)


def _ahead(tp: TopicPartition, position: int, end: int, stores: PartitionStores) -> StateError:
    return StateError(
        f"The local state of {tp.topic}[{tp.partition}] continues at offset {position}, but the changelog "
        "ends at "
        f"{end}: the topic was deleted, or the state belongs to another cluster. Check the brokers; if "
        "the topic "
        f"was recreated on purpose, delete {stores.directory} and start again."
    )


class RunRecovery(Recovery):
    """Faust's recovery service with `restore` in the place of its per-record loop.

    Faust's own restore stands still while partitions are revoked, since it reads through the group's
    consumer. Ours does not, so it has to look out for a rebalance itself: what it has restored is kept, but
    it must not declare the old assignment ready.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._revoked = asyncio.Event()
        super().__init__(*args, **kwargs)

    def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Interrupt a restore that is under way."""
        self._revoked.set()
        super().on_partitions_revoked(revoked)

    async def on_rebalance(self, *args: Any, **kwargs: Any) -> None:
        """Begin anew with the new assignment."""
        self._revoked.clear()
        await super().on_rebalance(*args, **kwargs)

    async def _wait(self, coro: Any, timeout: Any = None) -> None:  # noqa: ASYNC109 - Faust's own signature
        interrupts: list[Any] = [self.signal_recovery_start, self._revoked]
        outcome = await self.wait_first(coro, *interrupts, timeout=timeout)
        if any(interrupt.is_set() for interrupt in interrupts):
            raise RebalanceAgain
        if outcome.stopped:
            if self.should_stop:
                raise ServiceStopped
            raise InfrastructureError(
                f"Seeking the committed offsets took longer than {timeout} s: no group coordinator answers. "
                "Check the brokers; the worker restores again when it restarts."
            )

    @Service.task
    async def _restart_recovery(self) -> None:
        while not self.should_stop:
            signal: Any = self.signal_recovery_start  # mode knows only its own Event
            if await self.wait_for_stopped(signal):
                return
            self.signal_recovery_start.clear()
            generation = self._generation_id
            try:
                await self._wait(self._restore_actives())
                await self._wait(self.on_recovery_completed(generation))
            except (RebalanceAgain, IllegalStateError):
                continue  # the next assignment gives the next signal
            except ServiceStopped:
                return

    async def _restore_actives(self) -> None:
        app: Any = self.app
        self._set_recovery_started()
        for table in app.state_tables:
            await self._restore_table(app, table)

    async def _restore_table(self, app: Any, table: Any) -> None:
        started = time.monotonic()
        changelog = table.changelog_topic_name
        partitions = {tp.partition for tp in self.active_tps if tp.topic == changelog}
        applied = 0
        if partitions:
            async with app.new_consumer() as consumer:
                applied = await restore(
                    consumer, changelog, partitions, table.stores, outdated=table.form.outdated
                )
        elapsed = time.monotonic() - started
        self.log.info(
            "Restored %s records of %s partitions of %s in %.2f s",
            applied,
            len(partitions),
            table.name,
            elapsed,
        )
        app.metrics.restored(table.name, applied, elapsed)

    @Service.task
    async def _slurp_changelogs(self) -> None:
        """Do nothing: the changelog does not come through the group's consumer."""

    @Service.task
    async def _publish_stats(self) -> None:
        """Do nothing: `restore` tells how far it is."""


class RunTableManager(TableManager):
    """Faust's table manager with our recovery."""

    @property
    def recovery(self) -> RunRecovery:
        """The recovery service, made when first asked for."""
        if not isinstance(self._recovery, RunRecovery):
            self._recovery = RunRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery
