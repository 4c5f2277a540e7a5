"""Writes the read model to the archive: once a second what changed, together with how far was read."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Final, Protocol

from streams.console.archive.archive import ArchiveDamagedError
from streams.console.archive.file import is_damage
from streams.console.archive.row_store import RowStore
from streams.console.read_model.forgotten import NOTHING_ERASED, Erasure
from streams.console.read_model.ledger import table_of
from streams.console.read_model.rows import Row, WatermarkRow
from streams.console.read_model.tables import RowTable

log = logging.getLogger(__name__)

_EVERY_SECONDS: Final = 1.0
_FORGET_EVERY: Final = 30
_REMOVE_EVERY: Final = 600
_SLICE_SECONDS: Final = 0.005
_LOOK_EVERY: Final = 64


class Kept(Protocol):
    """The part of the read model that is written."""

    def erasing(self) -> Erasure:
        """Return what is to be deleted from the archive."""

    def erased(self, what: Erasure) -> None:
        """Take note that it is."""

    def draining(self) -> Iterator[tuple[RowTable, Row]]:
        """Return the rows that changed since the last time."""

    def rows(self) -> Iterator[Row]:
        """Yield every row."""

    def forget(self, now: int) -> int:
        """Forget what nobody needs and the archive has."""


class Lives(Protocol):
    """The part of the settings that says how long rows are kept."""

    @property
    def history_days(self) -> int:
        """How far back history goes."""


class ArchiveFlush:
    """Brings what changed into the archive.

    Args:
        model: Read model that is kept.
        archive: File that it is kept in.
        marks: Returns how far each partition was read.
        lives: How long rows are kept.
        clock: Returns the time in milliseconds since 1970.
    """

    def __init__(
        self,
        model: Kept,
        archive: RowStore,
        marks: Callable[[], list[WatermarkRow]],
        lives: Lives,
        clock: Callable[[], int],
    ) -> None:
        self._model = model
        self._archive = archive
        self._marks = marks
        self._lives = lives
        self._clock = clock
        self._source: Iterator[tuple[RowTable, Row]] = iter(())
        self._collected: list[tuple[RowTable, Row]] = []
        self._reached: list[WatermarkRow] = []
        self._written: list[WatermarkRow] = []
        #: What is deleted before the rows are written: these are of what came after that.
        self._erased = NOTHING_ERASED
        #: Rows that were written since the start.
        self.rows = 0
        self._lock = asyncio.Lock()
        self._is_pending = False

    async def run(self) -> None:
        """Write for ever, and remove what is old.

        Raises:
            ArchiveDamagedError: the file is of no use any more.
        """
        rounds = 0
        while True:
            await self.flush()
            if rounds % _FORGET_EVERY == 0:
                self._model.forget(self._clock())
            if rounds % _REMOVE_EVERY == 0:
                while await self._done(self._archive.remove_old(self._clock(), self._lives.history_days)):
                    pass
            rounds += 1
            await asyncio.sleep(_EVERY_SECONDS)

    async def flush(self) -> None:
        """Write what changed. If this is cancelled, the next one writes it.

        Raises:
            ArchiveDamagedError: the file is of no use any more.
        """
        async with self._lock:
            if self._is_pending:
                await self._finish()
            self._erased = self._model.erasing()
            self._collected, self._reached, self._source = [], self._marks(), self._model.draining()
            self._is_pending = True
            await self._finish()

    async def drop(self, tables: Iterable[RowTable], topics: Iterable[str]) -> None:
        """Delete all rows of some tables, and how far some topics were read."""
        await self.flush()
        async with self._lock:
            await self._done(self._archive.drop(tables, topics))

    def start_over(self) -> None:
        """Write every row of the model next, into an archive that is empty, and no marks with them."""
        self._collected, self._reached, self._written, self._erased = [], [], [], NOTHING_ERASED
        self._source = iter([(table_of(row), row) for row in self._model.rows()])
        self._is_pending = True

    async def _finish(self) -> None:
        # The marks are never newer than the rows: what is read twice is folded twice and changes nothing.
        began = time.perf_counter()
        for number, each in enumerate(self._source):
            self._collected.append(each)
            if number % _LOOK_EVERY == 0 and time.perf_counter() - began > _SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()
        if self._collected or self._reached != self._written or any(self._erased):
            self.rows += await self._done(self._archive.save(self._collected, self._reached, self._erased))
            self._written = self._reached
            self._model.erased(self._erased)
            self._erased = NOTHING_ERASED
        self._is_pending = False

    @staticmethod
    async def _done(future: Future[int]) -> int:
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                raise ArchiveDamagedError(str(error)) from error
            raise
