"""The Faust app of the job: our transport, recovery and table in Faust's places."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, NamedTuple, cast

import faust
from aiokafka import AIOKafkaConsumer
from faust.app.base import BootStrategy
from faust.types import TP
from mode import CrashingSupervisor, Service

from streams.aggregation import Aggregation
from streams.domain.run import Run
from streams.domain.topic import Topic
from streams.engine import transport
from streams.engine.aggregates_epoch import AGGREGATE_FORM, AggregatesEpoch
from streams.engine.config_feed import ConfigFeed
from streams.engine.crash_point import crash_point
from streams.engine.epoch import AtLeastOnceEpoch
from streams.engine.lanes import Lanes
from streams.engine.options import AGGREGATES, SESSIONS, EngineOptions, repartition_topic
from streams.engine.producer import RunProducer
from streams.engine.recovery import RunTableManager
from streams.engine.table import SessionTable, StateTable
from streams.engine.topic_check import check_topics
from streams.engine.transport import RunConsumer, RunSchema
from streams.job import Job

#: Contributions of an epoch of the aggregates at most, where the runs of decisions are not larger anyway.
_TOGETHER = 5_000

#: Of consumers outside the group.
_METADATA_MAX_AGE_MS = 10_000

#: Decoded aggregates kept in memory at most, up to 50 kB each.
_CACHED_AGGREGATES = 5_000


class _Boot(BootStrategy):
    """Faust's start order with the app's companions first, so that health is answered during a restore."""

    def server(self) -> Iterable[Any]:
        app: Any = self.app
        return [*app.companions, *super().server()]


class Folds(NamedTuple):
    """What is done with the runs of the two topics that feed tables."""

    job: Job
    aggregation: Aggregation


class RunApp(faust.App):
    """A Faust app whose tables are written by epochs.

    Args:
        options: Names, addresses and sizes.
        new_folds: Opens what is done with a run; entered when the worker starts, left when it has stopped.
        metrics: Told about epochs and restores.
    """

    BootStrategy = _Boot

    def __init__(
        self,
        options: EngineOptions,
        new_folds: Callable[[], AbstractAsyncContextManager[Folds]],
        metrics: Any,
    ) -> None:
        transport.register()
        #: Services that start before everything else and stop after it.
        self.companions: list[Service] = []
        self.options = options
        self.transport_options = options.transport
        self.metrics = metrics
        self.settings_ready = asyncio.Event()
        #: When each partition last finished a run, by `time.monotonic`.
        self.progress_at: dict[tuple[str, int], float] = {}
        super().__init__(
            options.application_id,
            broker=[f"{transport.SCHEME}://{server}" for server in options.connection.servers],
            broker_credentials=options.connection.faust_credentials(),
            broker_client_id=options.connection.client_id,
            datadir=str(options.directory / "faust"),
            agent_supervisor=CrashingSupervisor,
            TableManager=RunTableManager,
            topic_disable_leader=True,
            topic_allow_declare=False,
            table_standby_replicas=0,
            worker_redirect_stdouts=False,
            # Faust prefers variables such as BROKER_URL to what it is told: those mean other programs.
            env_prefix="EDDY_FAUST_",
            **options.faust,
        )
        self._sources = str(Topic.DECISION_LOGS), repartition_topic(options.application_id)
        self.source = self.topic(self._sources[0], schema=RunSchema())
        self.repartition = self.topic(self._sources[1], schema=RunSchema())
        self.sessions = SessionTable(
            self,
            name=SESSIONS,
            directory=options.directory / SESSIONS,
            options=options.store,
            cached=options.cached_sessions,
        )
        self.aggregates = StateTable(
            self,
            name=AGGREGATES,
            form=AGGREGATE_FORM,
            directory=options.directory / AGGREGATES,
            options=options.store,
            cached=_CACHED_AGGREGATES,
        )
        self.state_tables = (self.sessions, self.aggregates)
        for table in self.state_tables:
            self.tables.add(table)
        self.feed = ConfigFeed(self.new_consumer, str(Topic.DETECTOR_CONFIG), str(Topic.SHADOW_CONFIG))
        self.companions.append(SettingsFollower(self))
        limits: dict[str, Any] = {
            "max_runs": options.lane_max_runs,
            "max_records": options.transport.run_max_records,
            "max_bytes": options.transport.run_max_bytes,
        }
        #: Of each table, the runs that change it.
        self.lanes = {
            SESSIONS: Lanes(self._process, self.crash, **limits),
            AGGREGATES: Lanes(
                self._process,
                self.crash,
                **{**limits, "max_records": max(_TOGETHER, options.transport.run_max_records)},
                pause_s=options.aggregate_pause_s,
                reach=crash_point(scope=AGGREGATES),
            ),
        }
        self._new_folds = new_folds
        self._open = AsyncExitStack()
        self._epochs: dict[str, Callable[[Run], Awaitable[None]]] = {}

    async def _process(self, run: Run) -> None:
        await self._epochs[run.topic](run)
        self.progress_at[run.topic, run.partition] = time.monotonic()

    def new_consumer(self) -> AIOKafkaConsumer:
        """Return a consumer outside the group, not started."""
        return AIOKafkaConsumer(
            **self.options.connection.client_options(),
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=self.transport_options.fetch_max_wait_ms,
            max_partition_fetch_bytes=8 << 20,
            # It is not told when the leader it looks for has moved, see `leaders`.
            metadata_max_age_ms=_METADATA_MAX_AGE_MS,
        )

    def committed(self, topic: str, partition: int) -> int | None:
        """Return the committed offset of a source partition as far as this worker knows."""
        return cast("RunConsumer", self.consumer).committed(TP(topic, partition))

    def end(self, topic: str, partition: int) -> int | None:
        """Return the offset after the newest record of a source partition, None before the first fetch."""
        return cast("RunConsumer", self.consumer).end(TP(topic, partition))

    def lags(self) -> dict[tuple[str, int], int]:
        """Return how many records of each assigned source partition are not processed yet."""
        consumer = cast("RunConsumer | None", self._consumer)
        if consumer is None or not self.tables.actives_ready:
            return {}
        return {
            (tp.topic, tp.partition): lag
            for tp in consumer.assignment()
            if tp.topic in self._sources and (lag := consumer.lag(tp)) is not None
        }

    async def on_first_start(self) -> None:
        """Refuse to start on topics that do not fit together."""
        await check_topics(self.options)
        folds = await self._open.enter_async_context(self._new_folds())
        producer = cast("RunProducer", self.producer)
        decisions, contributions = self._sources
        self._epochs[decisions] = AtLeastOnceEpoch(
            job=folds.job,
            table=self.sessions,
            producer=producer,
            settings=self.feed,
            offsets=self,
            metrics=self.metrics,
            by_key={Topic.REPARTITION: contributions},
        )
        self._epochs[contributions] = AggregatesEpoch(
            aggregation=folds.aggregation, table=self.aggregates, producer=producer, metrics=self.metrics
        )
        self.options.directory.mkdir(parents=True, exist_ok=True)
        await super().on_first_start()

    async def on_stop(self) -> None:
        """Drain, then end the lanes."""
        try:
            await super().on_stop()
        finally:
            for lanes in self.lanes.values():
                await lanes.stop()
            await self._open.aclose()


class SettingsFollower(Service):
    """Keeps the feed running; an error in it stops the worker."""

    def __init__(self, app: RunApp, **kwargs: Any) -> None:
        self._app = app
        super().__init__(**kwargs)

    @Service.task
    async def _follow(self) -> None:
        await self._app.feed.follow(self._app.settings_ready)
