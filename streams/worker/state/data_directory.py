"""The directory of a worker's local state: it can be written to, and no other worker has it."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from streams.core.errors import ConfigurationError

_LOCK = "worker.lock"


class DataDirectory:
    """A claim on a directory, held until the worker ends, however it ends.

    RocksDB locks the database of a partition while it is open. Two workers on one directory would get
    different partitions of one group, and meet only when a partition moves.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: int | None = None

    def __enter__(self) -> Self:
        """Make the directory and claim it.

        Raises:
            ConfigurationError: it cannot be written to, or another worker has it.
        """
        file = self._path / _LOCK
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise ConfigurationError(
                f"{self._path} cannot be written to ({error}). Change its owner or rights, make room, or "
                "name another directory in EDDY_DATA_DIR."
            ) from error
        if not _claimed(self._lock):
            self.__exit__(None, None, None)
            raise ConfigurationError(
                f"{self._path} is used by another worker. Give every worker a data directory of its own "
                "(EDDY_DATA_DIR, or --data-dir)."
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Give it up."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _claimed(file: int) -> bool:
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
