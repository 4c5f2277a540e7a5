"""The archive: rows and how far each topic was read, written together, read back by screens and at start."""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, TypeVar

from streams.console.archive.file import ArchiveFile, is_damage, may_pass, selection, upsert
from streams.console.read_model import tables
from streams.console.read_model.forgotten import (
    NOTHING_ERASED,
    Erasure,
    decision_deletions,
    deletions,
    named_session,
    naming,
)
from streams.console.read_model.rows import Row, WatermarkRow
from streams.console.read_model.tables import TABLES, WATERMARK, RowTable, Value
from streams.core.domain.erasure import session_digest

log = logging.getLogger(__name__)

#: How long it waits before it tries again what the disk did not take.
_PAUSE_SECONDS: Final = 2.0


class WritePoint(StrEnum):
    """The statements of a transaction, for tests that kill the process after one."""

    BEGUN = "begun"
    DROPPED = "dropped"
    ROWS_WRITTEN = "rows_written"
    MARKS_WRITTEN = "marks_written"
    COMMITTED = "committed"


def going_on(point: WritePoint) -> None:
    """Do nothing."""


Work: TypeAlias = Callable[[sqlite3.Connection], int]
_Job: TypeAlias = tuple[Work, "Future[int]"]


class Writer:
    """Runs transactions in a thread of its own.

    Args:
        connection: To write with; closed by `close`.
        reached: Called at each point of a transaction.
    """

    def __init__(self, connection: sqlite3.Connection, reached: Callable[[WritePoint], None]) -> None:
        self._connection = connection
        self._reached = reached
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="archive-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> Future[int]:
        """Run something in a transaction after all that was submitted before; return what it will return.

        The result is a `sqlite3.DatabaseError` if the file is damaged. What the disk does not take now, as if
        it is full, is tried again until it does.
        """
        future: Future[int] = Future()
        self._jobs.put((work, future))
        return future

    def close(self) -> None:
        """Finish what was submitted, and end."""
        self._closing.set()
        self._jobs.put(None)
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, future = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._until_taken(work))
            except Exception as error:  # noqa: BLE001 - whoever waits for the result gets it
                future.set_exception(error)

    def _until_taken(self, work: Work) -> int:
        logged = False
        while True:
            try:
                return self._transaction(work)
            except sqlite3.OperationalError as error:
                if not may_pass(error) or self._closing.is_set():
                    raise
                if not logged:
                    log.warning(
                        "The archive cannot be written (%s): check the space on its disk. It is tried again "
                        "every %.0f s, and the board works meanwhile.",
                        error,
                        _PAUSE_SECONDS,
                    )
                    logged = True
                self._closing.wait(_PAUSE_SECONDS)

    def _transaction(self, work: Work) -> int:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._reached(WritePoint.BEGUN)
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self._reached(WritePoint.COMMITTED)
        return result


def erase(connection: sqlite3.Connection, what: Erasure) -> None:
    """Delete every row about sessions that were forgotten, and the decisions about them."""
    for subject in what.subjects:
        for statement, values in decision_deletions(subject):
            connection.execute(statement, values)
    if not what.digests:
        return
    named = {named_session(target) for (target,) in connection.execute(naming())}
    for session_id in named:
        if session_digest(session_id) in what.digests:
            for statement, values in deletions(session_id):
                connection.execute(statement, values)


_DAY_MS: Final = 86_400_000

#: Rows that one transaction deletes at most of a table: others wait for the writer meanwhile.
_AT_ONCE: Final = 5_000


class Age(NamedTuple):
    """What tells how old a row is, and the days it is kept; None for as long as history goes."""

    table: RowTable
    column: str
    days: int | None = None


#: Tables that are not here are kept whole: they are small, or the newest row of each key counts for ever.
AGES: Final = (
    Age(tables.SESSION, "last_ts"),
    Age(tables.EPISODE, "last_ts"),
    Age(tables.FINDING, "ts"),
    Age(tables.COMMAND, "ts"),
    Age(tables.ACK, "at"),
    Age(tables.GUARD, "seen"),
    Age(tables.LETTER, "ts"),
    Age(tables.SHADOW, "ts"),
    Age(tables.ACTION, "at", 90),
    Age(tables.TRIAGE, "at", 90),
    Age(tables.HEALTH, "bucket", 30),
    # Longer than any topic keeps what was forgotten.
    Age(tables.FORGOTTEN, "at", 120),
)


def remove_old(connection: sqlite3.Connection, now: int, history_days: int) -> int:
    """Delete some rows that are too old; return how many, 0 when none is left.

    Args:
        connection: Connection that is in a transaction.
        now: Time of the call, in milliseconds since 1970.
        history_days: How far history goes back; at least a day is kept.
    """
    removed = 0
    for table, column, days in AGES:
        before = now - (days or max(1, history_days)) * _DAY_MS
        removed += connection.execute(
            f'DELETE FROM "{table.name}" WHERE rowid IN '  # noqa: S608 - names of ours
            f'(SELECT rowid FROM "{table.name}" WHERE "{column}" < ? LIMIT {_AT_ONCE})',
            (before,),
        ).rowcount
    return removed


_READERS: Final = 4
_T = TypeVar("_T")


class ArchiveDamagedError(Exception):
    """The file of the archive is of no use: `Archive.rebuild` begins with an empty one."""


class Archive:
    """Rows on disk. Use `save`, and `select` or a method below from screens; close it at the end.

    Args:
        directory: For this console alone.
        reached: Called at each statement of a transaction, for tests.

    Raises:
        ConfigurationError: the directory cannot be used.
    """

    def __init__(self, directory: Path, reached: Callable[[WritePoint], None] = going_on) -> None:
        self._file = ArchiveFile(directory)
        self._reached = reached
        self._pool = ThreadPoolExecutor(_READERS, "archive-reader")
        self._idle: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        try:
            self._open()
        except BaseException:
            self._file.release()
            raise

    def _open(self) -> None:
        self._file.prepare()
        self._writer = Writer(self._file.connect(writes=True), self._reached)
        self._own = self._file.connect(writes=False)
        for _ in range(_READERS):
            self._idle.put(self._file.connect(writes=False))

    def _close(self) -> None:
        self._writer.close()
        self._own.close()
        for _ in range(_READERS):
            self._idle.get().close()

    def close(self) -> None:
        """Finish what was asked for, and let others have the directory."""
        self._close()
        self._pool.shutdown()
        self._file.release()

    def rebuild(self, problem: Exception) -> None:
        """Set a damaged file aside and begin with an empty one."""
        self._close()
        self._file.set_aside(problem)
        self._open()

    # -- writing

    def save(
        self,
        rows: Iterable[tuple[RowTable, Row]],
        marks: Iterable[WatermarkRow],
        erased: Erasure = NOTHING_ERASED,
    ) -> Future[int]:
        """Write rows, and with them how far each partition was read: all or nothing.

        Args:
            rows: What is written, with its tables.
            marks: How far each partition was read.
            erased: What is deleted before that.

        Returns:
            When it is done, the number of rows. Or the error: `sqlite3.DatabaseError` of a damaged file.
        """
        by_table: dict[RowTable, list[Row]] = {}
        for table, row in rows:
            by_table.setdefault(table, []).append(row)
        marks = list(marks)

        def work(connection: sqlite3.Connection) -> int:
            erase(connection, erased)
            for table, group in by_table.items():
                connection.executemany(upsert(table), group)
            self._reached(WritePoint.ROWS_WRITTEN)
            connection.executemany(upsert(WATERMARK), marks)
            self._reached(WritePoint.MARKS_WRITTEN)
            return sum(map(len, by_table.values()))

        return self._writer.submit(work)

    def drop(self, tables: Iterable[RowTable], topics: Iterable[str]) -> Future[int]:
        """Delete all rows of some tables, and how far some topics were read."""
        tables, topics = list(tables), list(topics)

        def work(connection: sqlite3.Connection) -> int:
            dropped = 0
            for table in tables:
                dropped += connection.execute(f'DELETE FROM "{table.name}"').rowcount  # noqa: S608
                self._reached(WritePoint.DROPPED)
            for topic in topics:
                connection.execute(f'DELETE FROM "{WATERMARK.name}" WHERE topic = ?', (topic,))  # noqa: S608
            return dropped

        return self._writer.submit(work)

    def remove_old(self, now: int, history_days: int) -> Future[int]:
        """Delete some rows that are older than they are kept; return how many, 0 when none is left."""
        return self._writer.submit(lambda connection: remove_old(connection, now, history_days))

    # -- reading

    def rows(self, table: RowTable, rest: str = "", values: Sequence[Value] = ()) -> list[Row]:
        """Return rows of a table, here and now; for few rows, or at the start.

        Args:
            table: Name of the table.
            rest: What stands behind the table in the statement: ``WHERE ...``, ``ORDER BY ...``, ``LIMIT``.
            values: For the question marks in it.

        Raises:
            ArchiveDamagedError: the file is damaged.
        """
        return _read(self._own, table, rest, values)

    async def select(self, table: RowTable, rest: str = "", values: Sequence[Value] = ()) -> list[Row]:
        """Return rows of a table as `rows`, read by a thread."""
        return await self._in_thread(lambda connection: _read(connection, table, rest, values))

    async def starting_with(self, table: RowTable, column: str, prefix: str, limit: int) -> list[Row]:
        """Return rows whose column begins with a text, in the order of that column."""
        # The last character there is stands behind everything that begins with the prefix.
        rest = f'WHERE "{column}" >= ? AND "{column}" < ? ORDER BY "{column}" LIMIT ?'
        return await self.select(table, rest, (prefix, f"{prefix}\U0010ffff", limit))

    async def _in_thread(self, ask: Callable[[sqlite3.Connection], _T]) -> _T:
        def answer() -> _T:
            connection = self._idle.get()
            try:
                return ask(connection)
            finally:
                self._idle.put(connection)

        return await asyncio.get_running_loop().run_in_executor(self._pool, answer)


_TABLE_OF: Final = {table.row: table for table in TABLES}


def _read(connection: sqlite3.Connection, table: RowTable, rest: str, values: Sequence[Value]) -> list[Row]:
    make = table.row
    try:
        return [make(*row) for row in connection.execute(f"{selection(table)} {rest}", values)]  # type: ignore[misc]
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            raise ArchiveDamagedError(str(error)) from error
        raise
