"""Databases kept warm for partitions that another worker processes.

Faust's assignor gives each partition to one worker, and to `standby_replicas` others as a standby. A standby
reads the partition's changelog into a database of its own, so that it has only the last seconds to read when
it takes the partition over. It reads in rounds, with a consumer of its own and in the threads of a restore,
and leaves the event loop and the lanes alone.

A standby's databases are not the table's: no epoch looks anything up in them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from aiokafka.errors import KafkaError

from streams.core.errors import EddyError
from streams.worker.state.restore import LatestRecords, restore
from streams.worker.state.store import PartitionStores

#: A round of both tables costs 13 ms of CPU with nothing to read, nearly all of it in the event loop.
#: A worker that is killed is missed later than this, and one that leaves has written little since.
_ROUND_SECONDS = 5.0

#: After an error, which may be a broker that is not there.
_PAUSE_SECONDS = 10.0

log = logging.getLogger(__name__)

Share = Mapping[str, set[int]]
"""Partitions by the name of a table."""


class StandbyMetrics(Protocol):
    """What a standby reports."""

    def followed(self, table: str, records: int) -> None:
        """Take note of a round that read something."""

    def standby_failed(self) -> None:
        """Take note of an error that standing by met."""


class Standby:
    """Follows the changelogs of the partitions this worker stands by for.

    Args:
        tables: The tables whose changelogs are followed.
        new_consumer: Makes a consumer outside the group.
        tombstones_kept_ms: Asks how long a changelog keeps what tells of a deletion.
        metrics: Told about each round.
    """

    def __init__(
        self,
        tables: Iterable[Any],
        new_consumer: Callable[[], AbstractAsyncContextManager[Any]],
        tombstones_kept_ms: Callable[[str], Awaitable[int]],
        metrics: StandbyMetrics,
    ) -> None:
        self._tables = {table.name: table for table in tables}
        self.stores: dict[str, PartitionStores] = {
            name: table.stores.beside() for name, table in self._tables.items()
        }
        self._new_consumer = new_consumer
        self._ask_kept_ms = tombstones_kept_ms
        self._kept_ms: dict[str, int] = {}
        self._metrics = metrics
        self._following: asyncio.Task[None] | None = None
        self._up_to_date_at: dict[tuple[str, int], float] = {}

    def share(self, active: Share, standby: Share) -> None:
        """Give each open database to the table, or keep it, or close it. Nobody may be following."""
        for name, table in self._tables.items():
            own, mine = table.stores, self.stores[name]
            for partition in active.get(name, ()):
                own.take(partition, mine)
            for partition in standby.get(name, ()):
                mine.take(partition, own)
            for stores, kept in ((own, active), (mine, standby)):
                for partition in list(stores.opened()):
                    if partition not in kept.get(name, ()):
                        stores.close(partition)

    def follow(self, standby: Share) -> None:
        """Begin to follow these partitions."""
        if any(standby.values()):
            self._following = asyncio.create_task(self._follow(standby), name="standby")

    async def let_go(self) -> None:
        """Stop following; the databases stay open, without further writes."""
        self._up_to_date_at.clear()
        self._kept_ms.clear()
        if self._following is not None:
            # A task that is cancelled meanwhile has not let go yet, and the next one waits for it. Cancelled
            # twice it would not wait for the threads at the databases.
            if not self._following.cancelling():
                self._following.cancel()
            await asyncio.wait((self._following,))
            self._following = None

    async def close(self) -> None:
        """Stop following, and release the databases."""
        await self.let_go()
        for stores in self.stores.values():
            stores.close_all()

    def lag_seconds(self) -> dict[tuple[str, int], float]:
        """Return by table and partition how long ago a database was up to its changelog.

        A partition that has not been since it is followed is left out.
        """
        now = time.monotonic()
        return {partition: now - at for partition, at in self._up_to_date_at.items()}

    async def deletions_kept_ms(self, changelog: str) -> int:
        """Return how long a changelog keeps tombstones, as asked once for what is followed.

        Each question is a connection of its own, and each round that has something to read has one.
        """
        if changelog not in self._kept_ms:
            self._kept_ms[changelog] = await self._ask_kept_ms(changelog)
        return self._kept_ms[changelog]

    async def _follow(self, standby: Share) -> None:
        newest: dict[str, dict[int, LatestRecords]] = {name: {} for name in standby}
        while True:
            try:
                await self._rounds(standby, newest)
            except (asyncio.CancelledError, Exception) as error:  # noqa: BLE001 - whatever it is, it is told
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    return  # let go of, maybe in the moment of an error that took the cancellation's place
                self._failed(error)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _rounds(self, standby: Share, newest: Mapping[str, dict[int, LatestRecords]]) -> None:
        async with self._new_consumer() as consumer:
            while True:
                for name, partitions in standby.items():
                    await self._round(consumer, name, partitions, newest[name])
                await asyncio.sleep(_ROUND_SECONDS)

    def _failed(self, error: BaseException) -> None:
        """Report an error. The worker continues: a missing standby costs time only when it is needed.

        That holds for an error of ours as well: to stop for it would take away the partitions that this
        worker processes, for the sake of copies of others.
        """
        self._metrics.standby_failed()
        if isinstance(error, (EddyError, KafkaError, OSError)):
            log.warning("Standing by fails: %s. The worker tries again in %g s.", error, _PAUSE_SECONDS)
        else:
            log.error(
                "Standing by fails for an unexpected reason. The worker tries again in %g s; its standbys "
                "fall behind meanwhile. Report this with the lines that follow.",
                _PAUSE_SECONDS,
                exc_info=error,
            )

    async def _round(
        self, consumer: Any, name: str, partitions: set[int], newest: dict[int, LatestRecords]
    ) -> None:
        table, since = self._tables[name], time.monotonic()
        read = await restore(
            consumer,
            table.changelog_topic_name,
            partitions,
            self.stores[name],
            form=table.form,
            tombstones_kept_ms=lambda: self.deletions_kept_ms(table.changelog_topic_name),
            newest=newest,
        )
        self._up_to_date_at |= {(name, partition): since for partition in partitions}
        if read:
            self._metrics.followed(name, read)
