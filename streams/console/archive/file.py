"""The file of the archive: opened for the owner alone, by one console, and made again if it is of no use."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
from pathlib import Path
from typing import Final

from streams.console.archive.damage import may_pass
from streams.console.archive.schema import statements, version
from streams.core.errors import ConfigurationError, InfrastructureError

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
