"""The epoch of the aggregates: what happens to one run of contributions, in the order that makes it safe.

    fold        read the contributions, add them up: pure, in memory
    outputs     each aggregate that changed: acknowledged by the broker
    changelog   one record per changed aggregate: acknowledged by the broker
    store       one RocksDB batch holds the aggregates and the changelog offset

A crash between any two stages replays the run. An aggregate whose changelog record was acknowledged does not
count again what it has counted; one whose record was not counts it then. What is published in between may
differ, since a replayed run may be cut otherwise; what is published last does not.
"""

from __future__ import annotations

import time
from typing import Protocol

from streams.aggregation import (
    OUTPUTS,
    Aggregate,
    Aggregation,
    Tallied,
    decode_aggregate,
    encode_aggregate,
    parts,
)
from streams.domain.run import Run
from streams.engine.changelog import Form, restoring
from streams.engine.crash_point import CrashPoint, crash_point
from streams.engine.effects import Effects
from streams.engine.options import AGGREGATES
from streams.engine.producer import RunProducer
from streams.engine.table import StateTable


def _decode(stored: bytes) -> Aggregate:
    with restoring("aggregate"):
        return decode_aggregate(stored)


def _outdated(_key: bytes, stored: bytes, known: bytes) -> bool:
    before, now = _decode(stored).positions, _decode(known).positions
    return before != now and all(offset <= now.get(source, -1) for source, offset in before.items())


#: Of the table of aggregates.
AGGREGATE_FORM: Form[Aggregate] = Form(str.encode, encode_aggregate, _decode, _outdated)


class AggregatesMetrics(Protocol):
    """What an epoch of the aggregates reports."""

    def tallied(self, tallied: Tallied, seconds: float) -> None:
        """Take note of a finished epoch."""


class AggregatesEpoch:
    """The epoch without transactions.

    Args:
        aggregation: Decides what comes out.
        table: The aggregates.
        producer: Must acknowledge with ``acks=all``.
        metrics: Told about each epoch.
    """

    def __init__(
        self,
        *,
        aggregation: Aggregation,
        table: StateTable[Aggregate],
        producer: RunProducer,
        metrics: AggregatesMetrics,
    ) -> None:
        self._aggregation = aggregation
        self._table = table
        self._metrics = metrics
        self._reach = crash_point(scope=AGGREGATES)
        # An agent's record stands where its key says, whatever partition its contributions came through.
        by_key = {str(topic): str(topic) for topic in OUTPUTS}
        self._effects = Effects(table=table, producer=producer, reach=self._reach, by_key=by_key)

    async def __call__(self, run: Run) -> None:
        """Process ``run`` to the end; returns when it may be acknowledged.

        Raises:
            InfrastructureError: the broker failed.
            StateError: the local state, or a contribution, cannot be used.
        """
        started = time.perf_counter()
        read = parts(run)
        view = self._table.view(run.partition, {part.name for part in read})
        tallied = self._aggregation.fold(read, view)
        self._reach(CrashPoint.FOLDED)
        await self._effects.publish(run.partition, tallied.outputs)
        await self._effects.persist(run, view)
        self._metrics.tallied(tallied, time.perf_counter() - started)
