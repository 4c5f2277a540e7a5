"""Faust's recovery, with `restore` in the place of its per-record delivery path (70 µs a record).

From an assignment to readiness, in the order that makes it safe:

    assigned    every source partition came with its changelog (`check_co_assigned`), else the worker ends
    fence       under exactly once, earlier owners can write no more to what was assigned
    let go      standbys of the partitions that are the worker's own now close and hand their databases over
    local       databases of another cluster, of a topic that was created again, or that may have missed a
                deletion go aside (`Origin.check_local`, `restore`)
    restore     each database is brought up to the end of its changelog
    sources     the restored state knows the topics that it was made of (`Origin.check_sources`)
    seek        Faust takes up the group's committed offsets (`on_recovery_completed`)
    settings    the settings feed has been read; then the log says "Ready."

A rebalance on the way begins again with the next assignment: what was restored is kept. Damage that is found
on the way sets the database aside, and its table is restored again.

Faust's assignor gives topics with the same number of partitions out together, by what the worker that leads
the group knows of the topics at that moment. A topic it knows nothing of, since it asked a broker that has
just started, is left out without a word; one that has another number is given out by itself. A worker would
then process partitions whose changelog it has not restored, and overwrite their sessions with new ones.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from itertools import groupby
from typing import Any

from aiokafka.errors import IllegalStateError
from faust.tables.manager import TableManager
from faust.tables.recovery import RebalanceAgain, Recovery, ServiceStopped
from faust.types import TP
from faust.types.tables import CollectionT
from mode import Service

from streams.core.errors import DamagedStateError, InfrastructureError
from streams.worker.faust.job_app import job_app
from streams.worker.state.changelog import kept_ms
from streams.worker.state.origin import Ids
from streams.worker.state.restore import RestoreProgress, restore
from streams.worker.state.standby import Standby
from streams.worker.state.table import StateTable


def partition_names(partitions: Iterable[tuple[str, int]]) -> str:
    """Return partitions by topic, those in a row as a range.

    >>> partition_names([("b", 7), ("a", 0), ("a", 1), ("a", 2), ("a", 5)])
    'a 0-2 and 5, b 7'
    >>> partition_names([])
    'none'
    """
    ordered = sorted(set(partitions))
    by_topic = groupby(ordered, key=lambda partition: partition[0])
    return ", ".join(f"{topic} {_ranges([number for _, number in of])}" for topic, of in by_topic) or "none"


def _ranges(numbers: list[int]) -> str:
    rows = groupby(enumerate(numbers), key=lambda item: item[1] - item[0])
    ends = [(row[0][1], row[-1][1]) for row in (list(row) for _, row in rows)]
    return " and ".join(str(first) if first == last else f"{first}-{last}" for first, last in ends)


def check_co_assigned(
    assigned: Collection[TP], active: Collection[TP], changelogs: Mapping[str, str]
) -> None:
    """Refuse source partitions whose changelog did not come with them.

    Args:
        assigned: The partitions of a new assignment.
        active: Those of changelogs among them that are to be restored for the worker itself.
        changelogs: By source, the topic that holds its state.

    Raises:
        InfrastructureError: says which, and what to do.
    """
    for tp in sorted(assigned):
        changelog = changelogs.get(tp.topic)
        if changelog is not None and TP(changelog, tp.partition) not in active:
            raise InfrastructureError(
                f"{tp.topic}[{tp.partition}] was assigned without {changelog}[{tp.partition}], which holds "
                "its state: the worker that shared the partitions out did not see both topics with the same "
                "number of partitions. Where a broker had just started, a restart is enough; where somebody "
                f"has added partitions to {tp.topic}, the restart says what to do."
            )


log = logging.getLogger(__name__)


class RunRecovery(Recovery):
    """Faust's recovery service with `restore` in the place of its per-record loop.

    Faust's own restore stands still while partitions are revoked, since it reads through the group's
    consumer. Ours does not, so it has to look out for a rebalance itself: what it has restored is kept, but
    it must not declare the old assignment ready.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._revoked = asyncio.Event()
        #: A restore that was interrupted may have a thread at the databases for a moment.
        self._one_restore = asyncio.Lock()
        super().__init__(*args, **kwargs)
        app = job_app(self.app)
        self._tombstones_kept_ms = partial(kept_ms, app.options.connection)
        self.standby = Standby(app.state_tables, app.new_consumer, self._tombstones_kept_ms, app.metrics)

    async def on_stop(self) -> None:
        """Release what stands by."""
        await self.standby.close()
        await super().on_stop()

    def _add(self, table: CollectionT, tp: TP, offsets: Counter[TP]) -> None:
        """Take note of a partition, but do not ask for its offset: that would open its database."""
        self.tp_to_table[tp] = table
        offsets.setdefault(tp, None)  # type: ignore[arg-type]  # as Faust does until it knows

    def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Interrupt a restore that is under way."""
        self._revoked.set()
        super().on_partitions_revoked(revoked)

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Start over with the new assignment.

        Raises:
            InfrastructureError: source partitions came without their changelogs.
        """
        self._revoked.clear()
        app = job_app(self.app)
        if generation_id == app.consumer_generation_id:
            active = app.assignor.assigned_actives()
            check_co_assigned(assigned, active, app.options.changelogs())
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)

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
        app = job_app(self.app)
        while not self.should_stop:
            signal: Any = self.signal_recovery_start  # mode knows only its own Event
            if await self.wait_for_stopped(signal):
                return
            self.signal_recovery_start.clear()
            generation = self._generation_id
            try:
                self._announce()
                await self._wait(self._restore_actives())
                await self._wait(self.on_recovery_completed(generation))
                self.standby.follow(self._share(self.standby_tps))
                await self._wait(app.settings_ready.wait())
                log.info("Ready.")
            except (RebalanceAgain, IllegalStateError):
                continue  # the next assignment gives the next signal
            except ServiceStopped:
                return

    def _announce(self) -> None:
        app = job_app(self.app)
        source = {changelog: topic for topic, changelog in app.options.changelogs().items()}
        assigned = [(source[tp.topic], tp.partition) for tp in self.active_tps]
        standby = [(source[tp.topic], tp.partition) for tp in self.standby_tps]
        also = f"; standing by for {partition_names(standby)}" if standby else ""
        if assigned or standby:
            log.info("Assigned: %s%s.", partition_names(assigned), also)
        else:
            log.info("Nothing is assigned: the group has as many workers as partitions. This one is a spare.")

    async def _restore_actives(self) -> None:
        app = job_app(self.app)
        self._set_recovery_started()
        # Before the changelogs' ends are asked for: until then an earlier owner may still write to them.
        await app.fence({(self.tp_to_table[tp].name, tp.partition) for tp in self.active_tps})
        async with self._one_restore:
            await self.standby.let_go()
            active, standby = self._share(self.active_tps), self._share(self.standby_tps)
            self.standby.share(active, standby)
            topics = await app.topic_watch.refresh()
            for table in app.state_tables:
                share = sorted(active[table.name]), sorted(standby[table.name])
                while not await self._restored(table, *share, topics):
                    pass  # what was damaged is set aside now; PartitionStores sees to an end

    async def _restored(
        self, table: StateTable[Any], active: list[int], standby: list[int], topics: Ids
    ) -> bool:
        """Restore a table; return False where a database turns out to be damaged on the way."""
        app = job_app(self.app)
        changelog = table.changelog_topic_name
        try:
            app.origin.check_local(table.stores, changelog, active, topics)
            app.origin.check_local(self.standby.stores[table.name], changelog, standby, topics)
            await self._restore_table(table, active)
            for partition in active:
                state = f"the state in {changelog}[{partition}]"
                app.origin.check_sources(table.sources(partition), topics, state=state)
        except DamagedStateError as error:
            log.info("Restoring %s begins again: %s", table.name, error.problem)
            return False
        return True

    def _share(self, tps: Iterable[TP]) -> dict[str, set[int]]:
        """Return the partitions among ``tps`` of each table, by its name."""
        app = job_app(self.app)
        return {
            table.name: {tp.partition for tp in tps if tp.topic == table.changelog_topic_name}
            for table in app.state_tables
        }

    async def _restore_table(self, table: StateTable[Any], partitions: list[int]) -> None:
        app = job_app(self.app)
        started = time.monotonic()
        changelog = table.changelog_topic_name
        applied = 0
        if partitions:
            async with app.new_consumer() as consumer:
                applied = await restore(
                    consumer,
                    changelog,
                    partitions,
                    table.stores,
                    form=table.form,
                    tombstones_kept_ms=partial(self._tombstones_kept_ms, changelog),
                    progress=RestoreProgress(changelog),
                )
        elapsed = time.monotonic() - started
        if applied:
            log.info(
                "Restored the state of %s: %s records from %s in %.1f s.",
                table.name,
                f"{applied:,}",
                partition_names((changelog, partition) for partition in partitions),
                elapsed,
            )
        app.metrics.restored(table.name, applied, elapsed)

    @Service.task
    async def _slurp_changelogs(self) -> None:
        """Do nothing: the changelog does not come through the group's consumer."""

    @Service.task
    async def _publish_stats(self) -> None:
        """Do nothing: `restore` reports its progress."""


class RunTableManager(TableManager):
    """Faust's table manager with our recovery."""

    @property
    def recovery(self) -> RunRecovery:
        """The recovery service, made when first asked for."""
        if not isinstance(self._recovery, RunRecovery):
            self._recovery = RunRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery

    def standby_lags(self) -> dict[tuple[str, int], float]:
        """Return `Standby.lag_seconds`; nothing before the first assignment."""
        return self._recovery.standby.lag_seconds() if isinstance(self._recovery, RunRecovery) else {}
