"""A Faust app with our transport, recovery and tables in Faust's places."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, cast

import faust
from faust.app.base import BootStrategy
from faust.types import TP
from mode.types import ServiceT

from streams.core.domain.run import Run
from streams.core.domain.topic import Topic
from streams.core.errors import DamagedStateError, EddyError
from streams.kafka.clock import ClusterClock
from streams.kafka.connection import READ_COMMITTED
from streams.kafka.patches.bootstrap import close_what_is_left
from streams.kafka.patches.careful_fetch import CarefulConsumer
from streams.worker.delivery.guarantee import Guarantee
from streams.worker.delivery.lease import WorkerLease
from streams.worker.delivery.producer import RunProducer
from streams.worker.faust import transport
from streams.worker.faust.app_settings import app_settings
from streams.worker.faust.background_services import IdleProducers
from streams.worker.faust.recovery import RunTableManager
from streams.worker.faust.transport import RunConsumer, RunSchema
from streams.worker.health.topic_watch import TopicWatch
from streams.worker.lanes import Lanes, Process
from streams.worker.metrics import EngineMetrics
from streams.worker.options import EngineOptions
from streams.worker.preflight import check_producer, check_topics
from streams.worker.state.data_directory import DataDirectory
from streams.worker.state.origin import Origin
from streams.worker.state.table import StateTable

log = logging.getLogger(__name__)

#: How old the metadata of consumers outside the group may get.
_METADATA_MAX_AGE_MS = 10_000


class _Boot(BootStrategy):
    """Faust's start order with the background services first, so that health is answered during a restore."""

    def server(self) -> Iterable[ServiceT]:
        return [*cast("RunApp", self.app).background_services, *super().server()]


class RunApp(faust.App):
    """A Faust app whose tables are written by epochs.

    What it reads and writes is in its options (`Flow`); an app of that flow has the tables, the lanes and the
    epochs.

    Args:
        options: Names, addresses and sizes.
        metrics: Counts what the engine reports, such as finished restores.
    """

    BootStrategy = _Boot

    def __init__(self, options: EngineOptions, metrics: EngineMetrics) -> None:
        transport.register()
        close_what_is_left()
        #: Services that start before everything else and stop after it.
        self.background_services: list[ServiceT] = []
        self.options = options
        self.metrics = metrics
        #: The lease on the partitions: the consumer's heartbeats renew it; it counts without transactions.
        self.lease = WorkerLease(options.session_timeout_s, options.rebalance_timeout_s)
        #: The clock by which state is removed.
        self.clock = ClusterClock()
        self.settings_ready = asyncio.Event()
        #: Says that no broker answers and since when; None as long as one does.
        self.broker_silence: Callable[[], str | None] = lambda: None
        #: When each partition last finished a run, or a step of a long one, by `time.monotonic`.
        self.progress_at: dict[tuple[str, int], float] = {}
        super().__init__(options.application_id, **app_settings(options))
        #: The topics whose runs change tables, by the name of the table.
        self.sources = {
            table: self.topic(options.topic(source), schema=RunSchema())
            for source, table in options.flow.tables.items()
        }
        self.state_tables = self._new_tables()
        for table in self.state_tables:
            self.tables.add(table)
        self.origin = Origin(
            options.application_id,
            options.internal(),
            options.directory,
            options.topic(Topic.REDRIVEN),
        )
        self.topic_watch = TopicWatch(
            options.connection,
            (*options.changelogs(), *options.changelogs().values()),
            others=[*map(options.topic, (*options.flow.settings, *options.flow.outputs))],
            anew=self.origin.anew,
        )
        #: The lanes, by the table that their runs change.
        self.lanes = self._new_lanes()
        self.background_services += (self.topic_watch, IdleProducers(self.keep_producers_known))
        #: Made when the worker starts.
        self._guarantee: Guarantee | None = None
        self._open = AsyncExitStack()
        self._epochs: Mapping[str, Process] = {}

    @abstractmethod
    def _new_tables(self) -> Sequence[StateTable[Any]]:
        """Return the tables of the flow."""

    @abstractmethod
    def _new_lanes(self) -> Mapping[str, Lanes]:
        """Return the lanes of the runs that change each table, by its name."""

    @abstractmethod
    async def _begin(
        self, largest: Mapping[str, int], guarantee: Guarantee, opened: AsyncExitStack
    ) -> Mapping[str, Process]:
        """Return what processes a run of each source.

        Args:
            largest: How many bytes a record of each topic may have.
            guarantee: How the epochs deliver.
            opened: Closed when the worker has stopped.
        """

    @property
    def run_consumer(self) -> RunConsumer:
        """The consumer of the group."""
        return cast("RunConsumer", self.consumer)

    @property
    def crash_reason(self) -> BaseException | None:
        """Why the worker ends: the first error that tells an operator what to do, else the first."""
        return self._crash_reason

    @crash_reason.setter
    def crash_reason(self, reason: BaseException | None) -> None:
        # Services that are cancelled because of it crash in turn, each with a reason of its own.
        if reason is None or _tells_more(reason, self._crash_reason):
            self._crash_reason = reason

    async def _process(self, run: Run) -> None:
        await self._epochs[run.topic](run)
        self._gets_on(run)

    def _gets_on(self, run: Run) -> None:
        self.progress_at[run.topic, run.partition] = time.monotonic()

    def new_consumer(self) -> CarefulConsumer:
        """Return a consumer outside the group, not started."""
        return CarefulConsumer(
            max_batch_bytes=self.options.connection.max_batch_bytes,
            **self.options.connection.consumer_options(),
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level=READ_COMMITTED,
            fetch_max_wait_ms=self.options.transport.fetch_max_wait_ms,
            max_partition_fetch_bytes=8 << 20,
            # It is not told when the leader it looks for has moved, see `leaders`.
            metadata_max_age_ms=_METADATA_MAX_AGE_MS,
        )

    def read_again_from(self, tp: TP) -> int | None:
        """Return the offset from which a source has to be read again, None for the committed one."""
        return next(
            (
                table.begins_at(tp.partition)
                for table in self.state_tables
                if self.sources[table.name].get_topic_name() == tp.topic
            ),
            None,
        )

    def unwritten(self) -> dict[tuple[str, int], int]:
        """Return how many values have changed and are not written, by table and partition."""
        return {}

    async def before_release(self) -> None:
        """Do what has to be done while the assigned partitions are still this worker's."""

    def committed(self, topic: str, partition: int) -> int | None:
        """Return the committed offset of a source partition as far as this worker knows."""
        return self.run_consumer.committed(TP(topic, partition))

    def end(self, topic: str, partition: int) -> int | None:
        """Return the offset after the newest record of a source partition, None before the first fetch."""
        return self.run_consumer.end(TP(topic, partition))

    def topic_id(self, topic: str) -> str | None:
        """Return which topic of that name was found at the assignment, None where brokers do not tell."""
        return self.topic_watch.ids.get(topic)

    def standby_lags(self) -> dict[tuple[str, int], float]:
        """Return by table and partition how many seconds the standbys of this worker are behind."""
        return cast("RunTableManager", self.tables).standby_lags()

    def source_partitions(self) -> set[tuple[str, int]]:
        """Return the source partitions that this worker processes; none before their state is restored."""
        consumer = cast("RunConsumer | None", self._consumer)
        if consumer is None or not self.tables.actives_ready:
            return set()
        sources = self.options.changelogs()
        return {(tp.topic, tp.partition) for tp in consumer.assignment() if tp.topic in sources}

    def lags(self) -> dict[tuple[str, int], int]:
        """Return how many records of each assigned source partition are not processed yet.

        A partition whose leader does not answer is left out once all that was known of it is processed.
        """
        consumer = cast("RunConsumer | None", self._consumer)
        partitions = {partition: TP(*partition) for partition in self.source_partitions()}
        return {
            partition: lag
            for partition, tp in partitions.items()
            if consumer is not None
            and (lag := consumer.lag(tp)) is not None
            and (lag or consumer.is_current(tp))
        }

    def held_back(self) -> dict[tuple[str, int], int]:
        """Return how many records of source partitions wait for a transaction of others that is open."""
        consumer = cast("RunConsumer | None", self._consumer)
        held = {
            partition: 0 if consumer is None else consumer.held_back(TP(*partition))
            for partition in self.source_partitions()
        }
        return {partition: records for partition, records in held.items() if records}

    def polled(self) -> tuple[int, float]:
        """Return how many polls there have been, and when delivery last got on (monotonic)."""
        return self.run_consumer.polled()

    def is_left_out(self, partition: tuple[str, int]) -> bool:
        """Tell whether all that polls have brought of a source partition is processed."""
        return self.run_consumer.is_left_out(TP(*partition))

    def waiting(self) -> dict[tuple[str, int], int]:
        """Return how many runs of each source partition wait for their turn."""
        return {
            (topic, partition): runs
            for source, table in self.options.flow.tables.items()
            for topic in (self.options.topic(source),)
            for partition, runs in self.lanes[table].waiting().items()
        }

    def sizes(self) -> dict[tuple[str, int], int]:
        """Return about how many entries the databases in use have, by table and partition."""
        return {
            (table.name, partition): store.size()
            for table in self.state_tables
            for partition, store in list(table.stores.opened().items())
        }

    def restore_again(self, error: DamagedStateError) -> None:
        """Begin no run any more, and join the group again: the restore that follows sets the damage aside.

        A run that was given up for the damage comes again. One that came behind it must not be processed
        before: a session takes what stands before its newest record for a repetition.
        """
        consumer = self.run_consumer
        if consumer.flow_active:
            log.info("%s This worker joins the group again for that.", error)
            consumer.stop_flow()
            consumer.join_again()

    async def on_first_start(self) -> None:
        """Refuse to start on topics that do not fit together."""
        self._open.enter_context(DataDirectory(self.options.directory))
        largest = await check_topics(self.options)
        await check_producer(self.options)
        for table in self.state_tables:
            table.largest = largest[table.changelog_topic_name]
        self._guarantee = Guarantee(
            self.options.transactions,
            producer=cast("RunProducer", self.producer),
            lease=self.lease,
            clock=self.clock,
            consumer=lambda: self.run_consumer,
            group=self.options.application_id,
            topics=self.options.written(),
            sources={table: self.options.topic(source) for source, table in self.options.flow.tables.items()},
            topic_prefix=self.options.connection.topic_prefix,
        )
        self._epochs = await self._begin(largest, self._guarantee, self._open)
        await super().on_first_start()

    async def fence(self, owned: Iterable[tuple[str, int]]) -> None:
        """Keep earlier owners of these partitions of tables from writing any more, under exactly once.

        Raises:
            InfrastructureError: the brokers do not let us.
        """
        if self._guarantee is not None:
            await self._guarantee.fence(owned)

    async def keep_producers_known(self, idle_s: float) -> None:
        """Let each producer that had nothing to do for ``idle_s`` commit its position once more."""
        if self._guarantee is not None:
            await self._guarantee.keep_producers_known(idle_s)

    async def _on_partitions_revoked(self, revoked: set[TP]) -> None:
        await super()._on_partitions_revoked(revoked)
        if self._guarantee is not None and not self.should_stop:
            await self._guarantee.release()

    async def on_stop(self) -> None:
        """Drain, then end the lanes."""
        if not self.crashed:
            log.info("Stopping: the worker finishes what it has begun, commits, and leaves the group.")
        try:
            await super().on_stop()
        finally:
            for lanes in self.lanes.values():
                await lanes.stop()
            if self._guarantee is not None:
                await self._guarantee.release()
            await self._open.aclose()


def _tells_more(reason: BaseException, known: BaseException | None) -> bool:
    if known is None or isinstance(known, EddyError):
        return known is None
    return isinstance(reason, EddyError) or isinstance(known, asyncio.CancelledError)
