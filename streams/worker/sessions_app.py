"""The Faust app of the job: sessions and aggregates, the settings feed and housekeeping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from streams.core.domain.topic import Topic
from streams.kafka.settings_feed import ConfigFeed
from streams.worker.app import RunApp
from streams.worker.delivery.guarantee import Guarantee
from streams.worker.faust.background_services import SettingsFollower
from streams.worker.job_parts import Folds, JobTables, WorkerParts, job_epochs, job_lanes, job_tables
from streams.worker.lanes import Lanes, Process
from streams.worker.lifetime.housekeeper import OwnedPartitions, housekeeper
from streams.worker.lifetime.housekeeping import Housekeeping
from streams.worker.metrics import JobMetrics
from streams.worker.options import SESSIONS, EngineOptions
from streams.worker.state.table import SessionTable

NewFolds = Callable[[Mapping[str, int]], AbstractAsyncContextManager[Folds]]


class SessionsApp(RunApp):
    """The app that judges sessions and adds them up.

    Args:
        options: Names, addresses and sizes.
        new_folds: Opens what is done with a run, given how many bytes a record of each topic may have;
            entered when the worker starts, left when it has stopped.
        metrics: Told about epochs and restores.
    """

    state_tables: JobTables

    def __init__(self, options: EngineOptions, new_folds: NewFolds, metrics: JobMetrics) -> None:
        self._job_metrics = metrics
        self._new_folds = new_folds
        super().__init__(options, metrics)
        self.feed = ConfigFeed(
            self.new_consumer, options.topic(Topic.DETECTOR_CONFIG), options.topic(Topic.SHADOW_CONFIG)
        )
        self._housekeeper = housekeeper(self)
        self.companions += (
            SettingsFollower(self.feed, self.settings_ready),
            *([] if self._housekeeper is None else [self._housekeeper]),
        )

    @property
    def sessions(self) -> SessionTable:
        """The table of sessions."""
        return self.state_tables.sessions

    def _new_tables(self) -> JobTables:
        return job_tables(self, self.options, self.metrics.set_aside)

    def _new_lanes(self) -> Mapping[str, Lanes]:
        return job_lanes(self.options, self._process, self.crash, self.restore_again)

    async def _begin(
        self, largest: Mapping[str, int], guarantee: Guarantee, opened: AsyncExitStack
    ) -> Mapping[str, Process]:
        folds = await opened.enter_async_context(self._new_folds(largest))
        metrics = self._job_metrics
        parts = WorkerParts(
            self.options, self.state_tables, guarantee, self.feed, offsets=self, metrics=metrics
        )
        by_topic, effects = job_epochs(folds, parts, self._gets_on)
        if self._housekeeper is not None:
            self._housekeeper.housekeeping = Housekeeping(
                job=folds.job,
                table=self.sessions,
                effects=effects,
                settings=self.feed,
                worker=OwnedPartitions(self, self.options.topic(Topic.DECISION_LOGS), self.lanes[SESSIONS]),
                metrics=metrics,
                clock=self.clock,
                interval_ms=int(1000 * self.options.housekeeping_interval_s),
                rest_ms=int(1000 * self.options.stub_rest_s),
            )
        return by_topic
