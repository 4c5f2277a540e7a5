"""What Faust's side may ask of the job's app, and nothing more.

Faust makes the consumer, the producer and the recovery itself and hands each its app. `job_app` is the one
place where that app is taken for ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from faust.types import TP, AppT

from streams.core.errors import DamagedStateError
from streams.kafka.clock import ClusterClock
from streams.kafka.patches.careful_fetch import CarefulConsumer
from streams.worker.delivery.lease import WorkerLease
from streams.worker.options import EngineOptions

if TYPE_CHECKING:  # these import what Faust makes
    from streams.worker.faust.transport import RunConsumer
    from streams.worker.health.topic_watch import TopicWatch
    from streams.worker.lanes import Lanes
    from streams.worker.metrics import EngineMetrics
    from streams.worker.state.origin import Origin
    from streams.worker.state.table import StateTable


class Tables(Protocol):
    """Faust's table manager, as far as the engine asks it."""

    @property
    def actives_ready(self) -> bool:
        """Whether the state of the assigned partitions is restored."""


class Assignor(Protocol):
    """Faust's partition assignor."""

    def assigned_actives(self) -> set[TP]:
        """Return the changelog partitions that this worker owns."""


class JobApp(Protocol):
    """The app of the job."""

    options: EngineOptions
    metrics: EngineMetrics
    lease: WorkerLease
    clock: ClusterClock
    settings_ready: asyncio.Event
    origin: Origin
    topic_watch: TopicWatch

    # -- Faust's own --------------------------------------------------------------------------------------

    @property
    def consumer_generation_id(self) -> int:
        """The generation of the group's assignment."""

    @property
    def rebalancing(self) -> bool:
        """Whether partitions are being assigned."""

    @property
    def should_stop(self) -> bool:
        """Whether the worker ends."""

    @property
    def tables(self) -> Tables:
        """The manager of all tables."""

    @property
    def assignor(self) -> Assignor:
        """The assignor of the group."""

    async def crash(self, reason: BaseException) -> None:
        """End the worker because of an error."""

    # -- ours ---------------------------------------------------------------------------------------------

    @property
    def lanes(self) -> Mapping[str, Lanes]:
        """The lanes, by the table that their runs change."""

    @property
    def state_tables(self) -> Sequence[StateTable[Any]]:
        """The tables."""

    @property
    def run_consumer(self) -> RunConsumer:
        """The consumer of the group."""

    def read_again_from(self, tp: TP) -> int | None:
        """Return the offset from which a source has to be read again, None for the committed one."""

    async def before_release(self) -> None:
        """Do what has to be done while the assigned partitions are still this worker's."""

    def new_consumer(self) -> CarefulConsumer:
        """Return a consumer outside the group, not started."""

    def restore_again(self, error: DamagedStateError) -> None:
        """Begin no more runs and join the group again: the restore that follows sets the damage aside."""

    async def fence(self, owned: Iterable[tuple[str, int]]) -> None:
        """Keep earlier owners of these partitions of tables from writing, under exactly once."""


def job_app(app: AppT) -> JobApp:
    """Return the app that Faust gave one of its services."""
    return cast("JobApp", app)
