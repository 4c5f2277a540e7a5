"""The one thread that writes: a transaction at a time, in the order in which they were asked for."""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from enum import StrEnum
from typing import Final, TypeAlias

from streams.console.archive.file import may_pass

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
        told = False
        while True:
            try:
                return self._transaction(work)
            except sqlite3.OperationalError as error:
                if not may_pass(error) or self._closing.is_set():
                    raise
                if not told:
                    log.warning(
                        "The archive cannot be written (%s): check the space on its disk. It is tried again "
                        "every %.0f s, and the board works meanwhile.",
                        error,
                        _PAUSE_SECONDS,
                    )
                    told = True
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
