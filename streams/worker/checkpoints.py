"""Writes the sessions that wait: those of each partition after an interval, and all of them at its end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import islice

from streams.core.domain.session import Session
from streams.core.errors import EddyError, ProducerFencedError
from streams.worker.effects import BatchOutput, Effects
from streams.worker.faust.job_app import JobApp
from streams.worker.lifetime.housekeeper import PeriodicRounds
from streams.worker.lifetime.housekeeping import PartitionOwner, of_each
from streams.worker.state.changelog import SETTINGS_KEY
from streams.worker.state.checkpoint import MARK_KEY
from streams.worker.state.table import SessionTable, StateView

#: Sessions that are written together: a run of the partition waits meanwhile.
_TOGETHER = 1_000

#: Parts of an interval, and seconds, between two looks at what is due.
_LOOKS, _LEAST_S, _MOST_S = 20, 0.05, 1.0

log = logging.getLogger(__name__)


class Checkpoints:
    """Writes the sessions of the partitions this worker has.

    Args:
        table: The table that they belong to.
        effects: The effects of the epochs of the sessions.
        worker: The worker whose partitions they are.
        now: Seconds, by a monotonic clock.
    """

    def __init__(
        self,
        table: SessionTable,
        effects: Effects[Session],
        worker: PartitionOwner,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table = table
        self._effects = effects
        self._worker = worker
        self._now = now
        #: Partitions that another worker has, by the generation in which that showed.
        self._lost: set[tuple[int, int]] = set()

    async def tick(self) -> None:
        """Write what is due, of all partitions at once: each waits for a run of its own lane.

        Raises:
            InfrastructureError: the broker or the disk failed.
            DamagedStateError: a database is damaged.
            ProducerFencedError: another worker owns the partition.
        """
        generation, partitions = self._worker.in_charge()
        await of_each(partitions, partial(self._write_due, generation))

    async def _write_due(self, generation: int, partition: int) -> None:
        goes_on = True
        while goes_on and self._is_due(generation, partition):
            async with self._worker.alone(partition):
                # A rebalance may have begun while this waited for the lane.
                now_generation, partitions = self._worker.in_charge()
                goes_on = now_generation == generation and partition in partitions
                if goes_on:
                    await self._write_unless_lost(generation, partition)

    async def _write_unless_lost(self, generation: int, partition: int) -> None:
        try:
            await self._write(partition, self._due(partition))
        except ProducerFencedError:
            self._lost.add((generation, partition))
            raise

    def _due(self, partition: int) -> dict[str, Session]:
        return self._table.unsaved(partition).due(self._now(), self._table.most())

    def _is_due(self, generation: int, partition: int) -> bool:
        return (generation, partition) not in self._lost and bool(self._due(partition))

    async def _write(self, partition: int, due: dict[str, Session]) -> None:
        unsaved = self._table.unsaved(partition)
        part = dict(islice(due.items(), _TOGETHER))
        if part:
            mark = unsaved.mark_without(part)
            marks = [(MARK_KEY, mark.encode())]
            await self._effects.carry_out(BatchOutput(partition, StateView({}, part), marks=marks))
            unsaved.saved(part, mark)

    async def write_all(self, partitions: Iterable[int]) -> None:
        """Write all that waits, before the partitions are given away: then nobody reads anything again.

        What cannot be written is read again by the next owner, so nothing is lost, and nothing is raised.
        """
        outcomes = await asyncio.gather(*map(self._write_all_of, partitions), return_exceptions=True)
        failures = [outcome for outcome in outcomes if outcome is not None]
        for failure in failures:
            if not isinstance(failure, EddyError):
                raise failure
        if failures:
            log.info(
                "Sessions that were not written yet stay so, their records are read again: %s", failures[0]
            )

    async def _write_all_of(self, partition: int) -> None:
        unsaved = self._table.unsaved(partition)
        while waiting := unsaved.next_ones(self._now()):
            await self._write(partition, waiting)
            await asyncio.sleep(0)
        ledger = self._table.ledger(partition)
        if unsaved.since is None and ledger.behind:
            clean = replace(ledger, behind=False)
            marks = [(SETTINGS_KEY, clean.encode())]
            await self._effects.carry_out(BatchOutput(partition, StateView({}), marks=marks))
            self._table.adopt(partition, clean)


class Checkpointer(PeriodicRounds):
    """Writes what is due, every twentieth of an interval.

    Args:
        app: The Faust app that an error stops.
        interval_s: How long a changed session waits.
        late_s: As `PeriodicRounds` takes it.
    """

    def __init__(self, app: JobApp, *, interval_s: float, late_s: float) -> None:
        super().__init__(app, tick_s=min(_MOST_S, max(_LEAST_S, interval_s / _LOOKS)), late_s=late_s)
        #: Made when the worker starts.
        self.checkpoints: Checkpoints | None = None

    async def tick(self, elapsed_s: float) -> None:  # noqa: ARG002 - what is due goes by the clock
        """Write what is due."""
        if self.checkpoints is not None:
            await self.checkpoints.tick()
