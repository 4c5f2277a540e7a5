"""The Faust app of the bridge: traces, and a clock for partitions that fall silent."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Final, NamedTuple

from streams.core.domain.topic import Topic
from streams.worker.app import RunApp
from streams.worker.bridge.bridge import Bridge
from streams.worker.bridge.rows import Row
from streams.worker.crash_point import crash_point
from streams.worker.delivery.guarantee import Guarantee
from streams.worker.faust.job_app import JobApp
from streams.worker.lanes import Lanes, Process
from streams.worker.lifetime.housekeeper import OwnedPartitions, PeriodicRounds
from streams.worker.metrics import BridgeEngineMetrics
from streams.worker.options import TRACES, EngineOptions
from streams.worker.state.table import StateTable
from streams.worker.traces_epoch import TRACES_FORMAT, TracesEpoch

_TICK_S: Final = 0.25


class _Silence(NamedTuple):
    """The offset that a partition has stood at, and since when (monotonic)."""

    offset: int
    since_s: float


class SilenceWatch(PeriodicRounds):
    """Moves the clock of silent partitions on.

    A partition is silent if everything in it is processed and nothing comes. Only then a replay may give the
    records of different traces in another order, or sort spans differently that came too late.

    Args:
        app: The Faust app of the bridge.
        worker: What the worker knows of its partitions.
        late_s: As `PeriodicRounds` takes it.
    """

    def __init__(self, app: JobApp, worker: OwnedPartitions, *, late_s: float) -> None:
        super().__init__(app, tick_s=_TICK_S, late_s=late_s)
        self._worker = worker
        self._generation = -1
        self._silent: dict[int, _Silence] = {}
        #: Set when the worker starts.
        self.epoch: TracesEpoch | None = None

    async def tick(self, elapsed_s: float) -> None:
        """Let go what is due by the clock of the machine."""
        del elapsed_s
        if self.epoch is not None:
            await self._release_due(self.epoch, time.monotonic())

    async def _release_due(self, epoch: TracesEpoch, now: float) -> None:
        worker = self._worker
        generation, partitions = worker.in_charge()
        if generation != self._generation:
            self._generation = generation
            self._silent.clear()
        for partition in partitions:
            progress = epoch.progress(partition)
            if progress is None or not progress.waiting or not worker.has_read_all(partition):
                self._silent.pop(partition, None)
                continue
            silence = self._silent.get(partition)
            if silence is None or silence.offset != progress.offset:
                silence = self._silent[partition] = _Silence(progress.offset, now)
            time_ms = progress.time_ms + int(1000 * (now - silence.since_s))
            if time_ms < min(wait.due_ms for wait in progress.waiting.values()):
                continue
            async with worker.alone(partition):
                # A rebalance or a run may have come while this waited for the lane.
                in_charge = worker.in_charge() == (generation, partitions)
                if in_charge and worker.has_read_all(partition) and epoch.progress(partition) == progress:
                    await epoch.release_due(worker.topic, partition, time_ms)


NewBridge = Callable[[Mapping[str, int]], AbstractAsyncContextManager[Bridge]]


class BridgeApp(RunApp):
    """The app that turns spans into decision logs.

    Args:
        options: Names, addresses and sizes.
        new_bridge: Opens what is done with a run, given how many bytes a record of each topic may have;
            entered when the worker starts, left when it has stopped.
        metrics: Told about epochs and restores.
    """

    def __init__(self, options: EngineOptions, new_bridge: NewBridge, metrics: BridgeEngineMetrics) -> None:
        self._bridge_metrics = metrics
        self._new_bridge = new_bridge
        super().__init__(options, metrics)
        self.settings_ready.set()  # it has none that change while it runs
        #: Made when the worker starts.
        self._epoch: TracesEpoch | None = None
        worker = OwnedPartitions(self, options.topic(Topic.OTLP_SPANS), self.lanes[TRACES])
        self._silence = SilenceWatch(self, worker, late_s=options.session_timeout_s / 2)
        self.background_services.append(self._silence)

    def held(self) -> dict[int, int]:
        """Return how many spans wait, by partition of this worker."""
        epoch = self._epoch
        if epoch is None:
            return {}
        progress = {partition: epoch.progress(partition) for _, partition in self.source_partitions()}
        return {
            partition: sum(wait.spans for wait in found.waiting.values())
            for partition, found in progress.items()
            if found is not None
        }

    def _new_tables(self) -> tuple[StateTable[Row], ...]:
        options = self.options
        return (
            StateTable(
                self,
                name=TRACES,
                form=TRACES_FORMAT,
                directory=options.directory / TRACES,
                options=options.store,
                cached=options.cached_sessions,
                on_set_aside=self.metrics.set_aside,
            ),
        )

    def _new_lanes(self) -> Mapping[str, Lanes]:
        options = self.options
        return {
            TRACES: Lanes(
                self._process,
                self.crash,
                damaged=self.restore_again,
                max_runs=options.lane_max_runs,
                max_records=options.transport.run_max_records,
                max_bytes=options.transport.run_max_bytes,
            )
        }

    async def _begin(
        self, largest: Mapping[str, int], guarantee: Guarantee, opened: AsyncExitStack
    ) -> Mapping[str, Process]:
        options, (table,) = self.options, self.state_tables
        source = options.topic(Topic.OTLP_SPANS)
        by_key = {str(Topic.DECISION_LOGS): options.topic(Topic.DECISION_LOGS)}
        epoch = self._epoch = TracesEpoch(
            bridge=await opened.enter_async_context(self._new_bridge(largest)),
            table=table,
            effects=guarantee.effects(table, "", by_key),
            metrics=self._bridge_metrics,
            clock=self.clock,
            on_crash_point=crash_point(),
            sources=lambda: {source: found} if (found := self.topic_id(source)) is not None else {},
        )
        self._silence.epoch = epoch
        return {source: epoch}
