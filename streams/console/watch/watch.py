"""Asks every worker once a minute and keeps what they say for two days."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from typing import Final

from streams.console.archive.archive import Archive
from streams.console.read_model.rows import SampleRow
from streams.console.read_model.tables import SAMPLE
from streams.console.watch.history import MINUTE_MS, WorkerHistory, samples_of
from streams.console.workers import SessionStanding, WorkerState, standing_of, workers
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers

log = logging.getLogger(__name__)

KEPT_MS: Final = 48 * 60 * MINUTE_MS
STEP_MS: Final = 10 * MINUTE_MS
_HOUR_MS: Final = 60 * MINUTE_MS


class WorkerWatch:
    """The watch over the workers.

    Args:
        archive: Keeps what they say.
        brokers: Tell the lag if no worker is named.
        group: The consumer group of the job.
        named: The parts of EDDY_CONSOLE_WORKERS; nothing is asked if there are none.
        clock: Returns the time in milliseconds since 1970.
        token: What the workers ask for before they say where a session stands.
    """

    def __init__(
        self,
        archive: Archive,
        brokers: Brokers,
        group: str,
        named: tuple[str, ...],
        clock: Callable[[], int],
        token: str | None = None,
    ) -> None:
        self._archive, self._brokers, self._clock, self._token = archive, brokers, clock, token
        self.group, self.named = group, named

    async def run(self) -> None:
        """Ask until cancelled."""
        while self.named:
            await self.look()
            await asyncio.sleep((MINUTE_MS - self._clock() % MINUTE_MS) / 1000)

    async def look(self) -> list[WorkerState]:
        """Ask every worker now, keep what it says, and return it.

        Raises:
            ConfigurationError: a name in EDDY_CONSOLE_WORKERS is none.
        """
        found, now = await workers(self.named), self._clock()
        samples = [
            row for each in found if each.metrics for row in samples_of(each.url, each.metrics.figures, now)
        ]
        try:
            await asyncio.wrap_future(self._archive.save(((SAMPLE, row) for row in samples), ()))
        except sqlite3.Error as error:
            log.warning("What the workers say is not kept: %s", error)
        return found

    async def standing(self, session_id: str) -> SessionStanding:
        """Return where a session stands, by the worker that has it."""
        return await standing_of(self.named, session_id, self._token)

    async def lag(self) -> dict[int, int | None]:
        """Return the lag of each partition by what the group has committed; None where it has nothing.

        Raises:
            ConfigurationError: the topic is missing.
            InfrastructureError: the brokers do not tell.
        """
        return await self._brokers.group_lag(self.group, self._brokers.topic(Topic.DECISION_LOGS))

    async def history(self) -> WorkerHistory:
        """Return what they said: each minute of the last hour, every tenth of what was before."""
        now = self._clock()
        rest = f"WHERE bucket >= ? OR (bucket >= ? AND bucket % {STEP_MS} = 0)"
        rows = await self._archive.select(SAMPLE, rest, (now - _HOUR_MS, now - KEPT_MS))
        return await asyncio.to_thread(WorkerHistory, [row for row in rows if isinstance(row, SampleRow)])
