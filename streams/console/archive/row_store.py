"""What keeps the rows of a reading: the archive, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Protocol

from streams.console.read_model.rows import Row, WatermarkRow
from streams.console.read_model.table import RowTable, Value


class RowStore(Protocol):
    """The part of `streams.console.archive.archive.Archive` that a feed, and what asks for samples, need."""

    def save(self, rows: Iterable[tuple[RowTable, Row]], marks: Iterable[WatermarkRow]) -> Future[int]:
        """Write rows and how far each partition was read, all or nothing; return the number of rows."""

    def drop(self, tables: Iterable[RowTable], topics: Iterable[str]) -> Future[int]:
        """Delete all rows of some tables, and how far some topics were read."""

    def remove_old(self, now: int, history_days: int) -> Future[int]:
        """Delete some rows that are older than they are kept; return how many."""

    def rows(self, table: RowTable, rest: str = "", values: Sequence[Value] = ()) -> list[Row]:
        """Return rows of a table."""

    async def select(self, table: RowTable, rest: str = "", values: Sequence[Value] = ()) -> list[Row]:
        """Return rows of a table without keeping the event loop."""

    def rebuild(self, problem: Exception) -> None:
        """Begin with an empty store."""


class NothingKept:
    """Keeps no row: for a reading that shows what is so now, and begins again at each start."""

    def save(self, rows: Iterable[tuple[RowTable, Row]], marks: Iterable[WatermarkRow]) -> Future[int]:
        """Do nothing."""
        del rows, marks
        return _none()

    def drop(self, tables: Iterable[RowTable], topics: Iterable[str]) -> Future[int]:
        """Do nothing."""
        del tables, topics
        return _none()

    def remove_old(self, now: int, history_days: int) -> Future[int]:
        """Do nothing."""
        del now, history_days
        return _none()

    def rows(self, table: RowTable, rest: str = "", values: Sequence[Value] = ()) -> list[Row]:
        """Return no row."""
        del table, rest, values
        return []

    async def select(self, table: RowTable, rest: str = "", values: Sequence[Value] = ()) -> list[Row]:
        """Return no row."""
        return self.rows(table, rest, values)

    def rebuild(self, problem: Exception) -> None:
        """Do nothing."""
        del problem


def _none() -> Future[int]:
    done: Future[int] = Future()
    done.set_result(0)
    return done
