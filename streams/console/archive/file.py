"""The file of the archive and its tables: opened by one console, made again if it is of no use."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from streams.console.read_model.tables import TABLES, Column, RowTable
from streams.core.errors import ConfigurationError, InfrastructureError

_TYPES: Final = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}

#: Raise it if rows mean something else than before in the same columns.
_MEANING: Final = 1


def quoted(names: Iterable[str]) -> str:
    """Return names as SQLite takes them: some are words of SQL.

    >>> quoted(["by", "offset"])
    '"by", "offset"'
    """
    return ", ".join(f'"{name}"' for name in names)


def statements() -> Iterator[str]:
    """Yield what makes an empty archive."""
    for table in TABLES:
        columns = ", ".join(map(_column, table.columns()))
        yield f'CREATE TABLE "{table.name}" ({columns}, PRIMARY KEY ({quoted(table.key)}))'
        for number, index in enumerate(table.indexes):
            where = f' WHERE "{index.where}"' if index.where else ""
            yield f'CREATE INDEX "{table.name}_{number}" ON "{table.name}" ({quoted(index.columns)}){where}'


def version() -> int:
    """Return a number that changes with the tables; SQLite keeps it as `user_version`."""
    return zlib.crc32("\n".join((str(_MEANING), *statements())).encode()) & 0x7FFF_FFFF


@cache
def upsert(table: RowTable) -> str:
    """Return the statement that writes a row, whether there is one with its key or not.

    >>> from streams.console.read_model.tables import DIFFERENCE
    >>> upsert(DIFFERENCE).partition("ON")[2]
    ' CONFLICT DO UPDATE SET "occurrences"=excluded."occurrences", "offsets"=excluded."offsets"'
    """
    names = [column.name for column in table.columns()]
    rest = ", ".join(f'"{name}"=excluded."{name}"' for name in names if name not in table.key)
    marks = ", ".join("?" * len(names))
    into = f'INSERT INTO "{table.name}" ({quoted(names)}) VALUES ({marks})'  # noqa: S608 - names of ours
    return f"{into} ON CONFLICT DO UPDATE SET {rest}"


@cache
def selection(table: RowTable) -> str:
    """Return the beginning of a statement that reads whole rows."""
    return f'SELECT {quoted(column.name for column in table.columns())} FROM "{table.name}"'  # noqa: S608


def _column(column: Column) -> str:
    return f'"{column.name}" {_TYPES[column.type]}{"" if column.nullable else " NOT NULL"}'


#: What may pass: a full disk, one that fails, a lock, too little memory.
_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
    }
)
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Tell whether an error means that the file is of no use any more, or is gone."""
    code = _code(error)
    return code & 0xFF in _DAMAGED or code == sqlite3.SQLITE_READONLY_DBMOVED


def may_pass(error: sqlite3.DatabaseError) -> bool:
    """Tell whether an error is that of a disk, a lock or the memory, and says nothing of the file."""
    return _code(error) & 0xFF in _PASSING and not is_damage(error)


def _code(error: sqlite3.DatabaseError) -> int:
    # Errors of the module itself have no code.
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code


log = logging.getLogger(__name__)

_NAME: Final = "archive.sqlite3"
_BESIDE: Final = ("", "-wal", "-shm")
#: What one connection keeps of the file in memory, in KiB.
_CACHE_KIB: Final = 8_192


class ArchiveFile:
    """The directory of an archive, held by this process.

    Args:
        directory: It is made if it is missing.

    Raises:
        ConfigurationError: it cannot be written, or another console uses it.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.path = directory / _NAME
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigurationError(
                f"The archive {directory} cannot be written ({error}). Set EDDY_CONSOLE_DIR to a directory "
                "of your own."
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise ConfigurationError(
                f"Another console uses {directory}. Set EDDY_CONSOLE_DIR to a directory of its own."
            ) from error

    def release(self) -> None:
        """Let others have the directory; call it when no connection is left."""
        os.close(self._lock)

    def prepare(self) -> None:
        """Make the file if it is missing; begin again with an empty one if it is of no use.

        Raises:
            InfrastructureError: no file can be made here.
        """
        try:
            if self._made() != version():
                log.info("The archive %s is of another version of Eddy. It is built again.", self.path)
                self._remove()
                self._made()
        except (OSError, sqlite3.DatabaseError) as error:
            if not isinstance(error, sqlite3.DatabaseError) or may_pass(error):
                raise InfrastructureError(
                    f"The archive {self.path} cannot be used ({error}). Check that its disk has space and"
                    " can be written, or set EDDY_CONSOLE_DIR."
                ) from error
            self.set_aside(error)

    def set_aside(self, problem: Exception) -> None:
        """Put a damaged file aside and begin with an empty one; no connection may be open."""
        aside = self.path.with_name(f"{_NAME}.damaged")
        for suffix in _BESIDE:
            part = self.path.with_name(_NAME + suffix)
            if part.exists():
                part.replace(aside.with_name(aside.name + suffix))
        log.warning(
            "The archive %s is damaged (%s). It was set aside as %s, which may be deleted, and is built "
            "again from the topics: there is nothing to do.",
            self.path,
            problem,
            aside.name,
        )
        self._made()

    def connect(self, *, writes: bool) -> sqlite3.Connection:
        """Return a connection, for one thread at a time."""
        connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        if not writes:
            connection.execute("PRAGMA query_only=ON")
        return connection

    def _made(self) -> int:
        """Make the file if there is none; return the version of its tables."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not self.path.exists()
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(self.path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            found: int = connection.execute("PRAGMA user_version").fetchone()[0]
            if is_new or (found == 0 and not connection.execute("SELECT 1 FROM sqlite_schema").fetchone()):
                found = version()
                connection.execute("BEGIN")
                for statement in statements():
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version={found}")
                connection.execute("COMMIT")
            return found
        finally:
            connection.close()

    def _remove(self) -> None:
        for suffix in _BESIDE:
            self.path.with_name(_NAME + suffix).unlink(missing_ok=True)
