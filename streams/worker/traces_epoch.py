"""The epoch of the bridge: what happens to one run of spans, in the order that makes it safe.

    fold        decode, hold, put in order: pure, in memory
    effects     the records of spans that go out, dead letters, changed traces: all of it as one `BatchOutput`

A replay of a run finds how far its partition was processed and passes over what stands before. Where that was
not stored yet, it gives the same records with the same ids again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from streams.core.domain.record import NO_HEADERS, Headers
from streams.core.domain.run import Run
from streams.kafka.clock import ClusterClock
from streams.worker.bridge.bridge import Bridge, Bridged, TraceRequest
from streams.worker.bridge.rows import PROGRESS, BridgeProgress, Row, TraceRow, decode, encode, touched_ms
from streams.worker.crash_point import CrashPoint
from streams.worker.effects import BatchOutput, Consumed, Effects
from streams.worker.refused_records import RefusedRecords
from streams.worker.state.changelog import TableFormat, buried, is_before, position, restoring
from streams.worker.state.origin import SOURCES_KEY, encode_sources
from streams.worker.state.table import StateTable, StateView

PROGRESS_KEY: Final = b"mprogress"
_TRACE: Final = b"t"

SLICE: Final = 50
"""Entries that an epoch looks at to find traces that can be removed."""

_AHEAD_MS: Final = 60_000
"""How far a record's timestamp may be ahead of the brokers' clock and still count."""


def _key(name: str) -> bytes:
    return PROGRESS_KEY if name == PROGRESS else _TRACE + name.encode()


def _decode(stored: bytes) -> Row:
    with restoring("trace"):
        return decode(stored)


def _outdated(key: bytes, stored: bytes, known: bytes) -> bool:
    return key != SOURCES_KEY and is_before(stored, known)


def _order(row: Row) -> int:
    # The progress of a partition comes last, since its offset is that of the next record: who has read it has
    # everything before.
    return row.offset


def _source(key: bytes, stored: bytes) -> tuple[bytes, int] | None:
    return None if key in {SOURCES_KEY, PROGRESS_KEY} else position(stored)


def _tombstone_headers(row: Row) -> Headers:
    return buried(b"[1,%d,%d]" % (row.partition, row.offset)) if isinstance(row, TraceRow) else NO_HEADERS


#: How the table of traces is stored.
TRACES_FORMAT: TableFormat[Row] = TableFormat(
    _key, encode, _decode, _outdated, order=_order, source=_source, tombstone_headers=_tombstone_headers
)


class BridgeMetrics(Protocol):
    """What an epoch of the bridge reports."""

    def bridged(self, bridged: Bridged, records: int, fold_seconds: float, seconds: float) -> None:
        """Take note of a finished epoch."""

    def forgotten(self, traces: int) -> None:
        """Count traces that were removed."""


class TracesEpoch:
    """The epoch of the bridge.

    Args:
        bridge: Decides what comes out.
        table: The table that remembers the traces.
        effects: Carry out what the epoch comes to.
        metrics: Told about each epoch.
        clock: The worker's clock, which follows the brokers' time.
        on_crash_point: Called with each stage that the epoch reaches.
        sources: The ids of the topics that the traces are built from, as far as brokers give any.
    """

    def __init__(
        self,
        *,
        bridge: Bridge,
        table: StateTable[Row],
        effects: Effects[Row],
        metrics: BridgeMetrics,
        clock: ClusterClock,
        on_crash_point: Callable[[CrashPoint], None],
        sources: Callable[[], Mapping[str, str]],
    ) -> None:
        self._bridge = bridge
        self._table = table
        self._effects = effects
        self._metrics = metrics
        self._clock = clock
        self._on_crash_point = on_crash_point
        self._sources = sources
        self._refused = RefusedRecords()
        #: Where the search for old traces continues, and at which time of the partition it begins again.
        self._searched: dict[int, bytes] = {}
        self._rests_until: dict[int, int] = {}

    async def __call__(self, run: Run) -> None:
        """Process ``run`` to the end; returns when it may be acknowledged.

        Raises:
            InfrastructureError: the broker failed.
            StateError: the local state cannot be used.
            ProducerFencedError: another worker owns the partition.
        """
        started = time.perf_counter()
        found = self._bridge.read(run)
        ids = {
            span.trace_id
            for _, request in found
            if isinstance(request, TraceRequest)
            for span in request.spans
        }
        view = self._view(run.partition, ids)
        bridged = Bridged()
        latest_ms = self._clock.now_ms() + _AHEAD_MS
        self._bridge.fold(run, found, view, bridged, latest_ms=latest_ms)
        removed = self._remove_old(run.partition, view)
        folding = time.perf_counter() - started
        self._on_crash_point(CrashPoint.FOLDED)
        origin = self._origin(run.partition)
        outcome = BatchOutput(run.partition, view, bridged.outputs, origin, Consumed.by(run))
        await self._effects.carry_out(outcome)
        self._refused.add(run.topic, run.partition, bridged.violations)
        self._metrics.bridged(bridged, len(run), folding, time.perf_counter() - started)
        self._metrics.forgotten(removed)

    def progress(self, partition: int) -> BridgeProgress | None:
        """Return how far a partition is processed, None before its first record."""
        row = self._table.view(partition, (PROGRESS,)).get(PROGRESS)
        return row if isinstance(row, BridgeProgress) else None

    async def release_due(self, topic: str, partition: int, time_ms: int) -> None:
        """Let go what is due at a time that no record has told; raises as a run does."""
        started = time.perf_counter()
        view = self._view(partition, ())
        bridged = Bridged()
        self._bridge.release_due(topic, partition, view, time_ms, bridged)
        if not view.changed:
            return
        folding = time.perf_counter() - started
        self._on_crash_point(CrashPoint.FOLDED)
        await self._effects.carry_out(BatchOutput(partition, view, bridged.outputs))
        self._metrics.bridged(bridged, 0, folding, time.perf_counter() - started)

    def _view(self, partition: int, trace_ids: Iterable[str]) -> StateView[Row]:
        """Return the rows of these traces, and of those with spans that wait."""
        progress = self.progress(partition)
        waiting = () if progress is None else progress.waiting
        return self._table.view(partition, {PROGRESS, *waiting, *trace_ids})

    def _remove_old(self, partition: int, view: StateView[Row]) -> int:
        """Remove traces that are forgotten, as far as the next slice of the database has any.

        The fold takes them for gone already, so nothing hangs on when they are removed.
        """
        progress = view.get(PROGRESS)
        if not isinstance(progress, BridgeProgress):
            return 0
        ttl_ms, now_ms = self._bridge.options.trace_ttl_ms, progress.time_ms
        if now_ms < self._rests_until.get(partition, 0):
            return 0
        entries = self._table.stores[partition].scan(self._searched.get(partition, b""), SLICE)
        for key, _, stored in entries:
            name = key[len(_TRACE) :].decode()
            if not key.startswith(_TRACE) or name in view.changed or name in progress.waiting:
                continue
            at_ms = touched_ms(stored)
            if at_ms is not None and at_ms + ttl_ms < now_ms:
                view.remove(_decode(stored), name)
        if len(entries) < SLICE:
            self._searched.pop(partition, None)
            self._rests_until[partition] = now_ms + ttl_ms // 10
        else:
            self._searched[partition] = entries[-1][0]
        return len(view.removed)

    def _origin(self, partition: int) -> list[tuple[bytes, bytes | None]]:
        """Return what has to be written down of where the traces come from: nothing, once it has been."""
        if self._table.sources(partition):
            return []
        ids = self._sources()
        return [(SOURCES_KEY, encode_sources(ids))] if ids else []
