"""The Faust app of the job: its tables, lanes and epochs, the settings feed and housekeeping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from typing import NamedTuple

from streams.core.domain.topic import AGGREGATES as AGGREGATE_TOPICS
from streams.core.domain.topic import Topic
from streams.kafka.settings_feed import ConfigFeed
from streams.worker.aggregates_epoch import AGGREGATES_FORMAT, AggregatesEpoch
from streams.worker.aggregation import Aggregate, Aggregation
from streams.worker.app import RunApp
from streams.worker.batch import Job
from streams.worker.checkpoints import Checkpointer, Checkpoints
from streams.worker.crash_point import crash_point
from streams.worker.delivery.guarantee import Guarantee
from streams.worker.epoch import SessionsEpoch
from streams.worker.faust.background_services import SettingsFollower
from streams.worker.lanes import Lanes, Process
from streams.worker.lifetime.housekeeper import OwnedPartitions, housekeeper
from streams.worker.lifetime.housekeeping import Housekeeping
from streams.worker.lifetime.silence import SilenceRounds, SilentSessions
from streams.worker.metrics import JobMetrics
from streams.worker.options import AGGREGATES, SESSIONS, EngineOptions
from streams.worker.state.table import SessionTable, StateTable

#: Contributions of an epoch of the aggregates at most, where the runs of decisions are not larger anyway.
_TOGETHER = 5_000

#: So long a lane waits for others to begin with them.
_PATIENCE_S = 0.05

#: Decoded aggregates kept in memory at most, up to 50 kB each.
_CACHED_AGGREGATES = 5_000


class JobTables(NamedTuple):
    """The tables of the job."""

    sessions: SessionTable
    aggregates: StateTable[Aggregate]


class Folds(NamedTuple):
    """What is done with the runs of the two topics that feed tables."""

    job: Job
    aggregation: Aggregation


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
        self._checkpointer = Checkpointer(
            self, interval_s=options.checkpoint_s, late_s=options.session_timeout_s / 2
        )
        self._silence = SilenceRounds(self, late_s=options.session_timeout_s / 2)
        self.background_services += (
            SettingsFollower(self.feed, self.settings_ready),
            self._checkpointer,
            self._silence,
            *([] if self._housekeeper is None else [self._housekeeper]),
        )

    @property
    def sessions(self) -> SessionTable:
        """The table of sessions."""
        return self.state_tables.sessions

    def _new_tables(self) -> JobTables:
        options = self.options
        sessions = SessionTable(
            self,
            name=SESSIONS,
            source=options.topic(Topic.DECISION_LOGS),
            checkpoint_s=options.checkpoint_s,
            directory=options.directory / SESSIONS,
            options=options.store,
            cached=options.cached_sessions,
            on_set_aside=self.metrics.set_aside,
        )
        aggregates = StateTable(
            self,
            name=AGGREGATES,
            form=AGGREGATES_FORMAT,
            directory=options.directory / AGGREGATES,
            options=options.store,
            cached=_CACHED_AGGREGATES,
            on_set_aside=self.metrics.set_aside,
        )
        return JobTables(sessions, aggregates)

    def _new_lanes(self) -> Mapping[str, Lanes]:
        size = self.options.transport
        lanes = partial(
            Lanes,
            self._process,
            self.crash,
            damaged=self.restore_again,
            max_runs=self.options.lane_max_runs,
            max_bytes=size.run_max_bytes,
            patience_s=_PATIENCE_S,
        )
        return {
            SESSIONS: lanes(max_records=size.run_max_records),
            AGGREGATES: lanes(
                max_records=max(_TOGETHER, size.run_max_records),
                pause_s=self.options.aggregate_pause_s,
                on_crash_point=crash_point(scope=AGGREGATES),
            ),
        }

    async def _begin(
        self, largest: Mapping[str, int], guarantee: Guarantee, opened: AsyncExitStack
    ) -> Mapping[str, Process]:
        options, metrics = self.options, self._job_metrics
        folds = await opened.enter_async_context(self._new_folds(largest))
        decisions, contributions = map(options.topic, (Topic.DECISION_LOGS, Topic.REPARTITION))
        effects = guarantee.effects(self.sessions, "", {Topic.REPARTITION: contributions})
        sessions = SessionsEpoch(
            job=folds.job,
            table=self.sessions,
            effects=effects,
            settings=self.feed,
            offsets=self,
            metrics=metrics,
            on_crash_point=crash_point(),
            progress=self._gets_on,
        )
        owned = OwnedPartitions(self, decisions, self.lanes[SESSIONS])
        self._checkpointer.checkpoints = Checkpoints(self.sessions, effects, owned)
        self._silence.watch = SilentSessions(
            job=folds.job,
            table=self.sessions,
            effects=effects,
            settings=self.feed,
            worker=owned,
            clock=self.clock,
            on_told=metrics.told_silent,
        )
        # An agent's record goes where its key says, whatever partition its contributions came through.
        by_key = {str(topic): options.topic(topic) for topic in AGGREGATE_TOPICS}
        aggregates = AggregatesEpoch(
            aggregation=folds.aggregation,
            table=self.state_tables.aggregates,
            effects=guarantee.effects(self.state_tables.aggregates, AGGREGATES, by_key),
            metrics=metrics,
            on_crash_point=crash_point(scope=AGGREGATES),
            sources=lambda: self._topic_ids(decisions, contributions),
        )
        if self._housekeeper is not None:
            self._housekeeper.housekeeping = Housekeeping(
                job=folds.job,
                table=self.sessions,
                effects=effects,
                settings=self.feed,
                worker=owned,
                metrics=metrics,
                clock=self.clock,
                interval_ms=int(1000 * options.housekeeping_interval_s),
                rest_ms=int(1000 * options.stub_rest_s),
            )
        return {decisions: sessions, contributions: aggregates}

    def unwritten(self) -> dict[tuple[str, int], int]:
        """Return how many sessions have changed and are not written, by table and partition."""
        return {
            (SESSIONS, each): len(self.sessions.unsaved(each)) for each in self.sessions.unsaved_partitions()
        }

    async def before_release(self) -> None:
        """Write the sessions that wait, so that nobody has to read their records again."""
        if self._checkpointer.checkpoints is not None and not self.crashed:
            await self._checkpointer.checkpoints.write_all(self.sessions.unsaved_partitions())

    def _topic_ids(self, *topics: str) -> dict[str, str]:
        found = {topic: self.topic_id(topic) for topic in topics}
        return {topic: topic_id for topic, topic_id in found.items() if topic_id is not None}
