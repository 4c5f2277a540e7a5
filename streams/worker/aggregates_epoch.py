"""The epoch of the aggregates: what happens to one run of contributions, in the order that makes it safe.

    fold        read the contributions, add them up: pure, in memory
    effects     each aggregate that changed: published, and in the changelog and in RocksDB, in the order of
                the processing guarantee; alerts, where the records of their session stand

An aggregate does not count again what it has counted, so a replay is harmless. At least once, what is
published in between may differ after a failure, since a replayed run may be cut otherwise; what is published
last does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from streams.core.domain.run import Run
from streams.core.domain.topic import Topic
from streams.worker.aggregation import (
    Aggregate,
    Aggregation,
    Tallied,
    decode_aggregate,
    encode_aggregate,
    parts,
)
from streams.worker.crash_point import CrashPoint
from streams.worker.effects import BatchOutput, Consumed, Effects
from streams.worker.state.changelog import TableFormat, restoring
from streams.worker.state.origin import SOURCES_KEY, encode_sources
from streams.worker.state.table import StateTable


def _decode(stored: bytes) -> Aggregate:
    with restoring("aggregate"):
        return decode_aggregate(stored)


def _outdated(key: bytes, stored: bytes, known: bytes) -> bool:
    if key == SOURCES_KEY:
        return False
    before, now = _decode(stored).positions, _decode(known).positions
    return before != now and all(offset <= now.get(source, -1) for source, offset in before.items())


#: How the table of aggregates is stored.
AGGREGATES_FORMAT: TableFormat[Aggregate] = TableFormat(str.encode, encode_aggregate, _decode, _outdated)


class AggregatesMetrics(Protocol):
    """What an epoch of the aggregates reports."""

    def tallied(self, tallied: Tallied, seconds: float) -> None:
        """Take note of a finished epoch."""


class AggregatesEpoch:
    """The epoch of the aggregates.

    Args:
        aggregation: Decides what comes out.
        table: The table of the counts across sessions.
        effects: Carry out what the epoch comes to.
        metrics: Told about each epoch.
        on_crash_point: Called with each stage that the epoch reaches.
        sources: The ids of the topics that the aggregates are built from, as far as brokers give any.
    """

    def __init__(
        self,
        *,
        aggregation: Aggregation,
        table: StateTable[Aggregate],
        effects: Effects[Aggregate],
        metrics: AggregatesMetrics,
        on_crash_point: Callable[[CrashPoint], None],
        sources: Callable[[], Mapping[str, str]],
    ) -> None:
        self._aggregation = aggregation
        self._sources = sources
        self._table = table
        self._metrics = metrics
        self._effects = effects
        self._on_crash_point = on_crash_point

    async def __call__(self, run: Run) -> None:
        """Process ``run`` to the end; returns when it may be acknowledged.

        Raises:
            InfrastructureError: the broker failed.
            StateError: the local state, or a contribution, cannot be used.
            ProducerFencedError: another worker owns the partition.
        """
        started = time.perf_counter()
        read = parts(run)
        view = self._table.view(run.partition, {part.name for part in read})
        tallied = self._aggregation.fold(read, view)
        self._on_crash_point(CrashPoint.FOLDED)
        outcome = BatchOutput(
            run.partition,
            view,
            tallied.outputs,
            self._origin(run.partition),
            Consumed.by(run),
            {partition: {Topic.SESSION_ALERTS: alerts} for partition, alerts in tallied.alerts.items()},
        )
        await self._effects.carry_out(outcome)
        self._metrics.tallied(tallied, time.perf_counter() - started)

    def _origin(self, partition: int) -> list[tuple[bytes, bytes | None]]:
        """Return what has to be written down of where the aggregates come from: nothing, once it has been."""
        if self._table.sources(partition):
            return []
        ids = self._sources()
        return [(SOURCES_KEY, encode_sources(ids))] if ids else []
