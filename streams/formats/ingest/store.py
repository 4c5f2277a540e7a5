"""Checkpoints of `eddy ingest`: how far each file was read, and which records each destination has.

A record counts as sent by its session and event id. An id that comes twice in one reading of a file is two
records; only a new reading, of a file that was rewritten or of another file, leaves out what was sent before.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from streams.core.errors import ConfigurationError

IN_MEMORY: Final = ":memory:"
_VERSION: Final = 1
_BUSY_SECONDS: Final = 30.0
_DAYS_KEPT: Final = 90
_DAY_S: Final = 86_400

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS destinations (id INTEGER PRIMARY KEY, name TEXT UNIQUE, content TEXT);
CREATE TABLE IF NOT EXISTS readings (id INTEGER PRIMARY KEY AUTOINCREMENT);
CREATE TABLE IF NOT EXISTS files (
  destination INTEGER, device INTEGER, inode INTEGER, path TEXT, format TEXT, position INTEGER, mark TEXT,
  first BLOB, last BLOB, state BLOB, reading INTEGER, since INTEGER, day INTEGER,
  PRIMARY KEY (destination, device, inode));
CREATE INDEX IF NOT EXISTS files_by_path ON files (destination, path);
CREATE TABLE IF NOT EXISTS sent (
  destination INTEGER, id BLOB, reading INTEGER, seen INTEGER, sent INTEGER, day INTEGER,
  PRIMARY KEY (destination, id)) WITHOUT ROWID;
"""

_COLUMNS: Final = "device, inode, path, format, position, mark, first, last, state, reading, since"


class FileIdentity(NamedTuple):
    """Which file it is, whatever its name."""

    device: int
    inode: int


class Fingerprint(NamedTuple):
    """Digests by which a file is known again: of its first line, and of the bytes before an offset."""

    first: bytes
    last: bytes


class Checkpoint(NamedTuple):
    """How far a file was read.

    Attributes:
        identity, path: which file, and the name it had when it was read first. A rotated log has another.
        format: the name of the format it is read as.
        position: offset after the last whole line that was read.
        mark: what of it was read, for an input that is not read by lines.
        fingerprint: by which it is known again.
        state: state of the adapter, as it gives it.
        reading: number of the reading; a file that is read from its beginning again has another one.
        since: records before this time are left out, in ms; 0 if none are.
    """

    identity: FileIdentity
    path: str
    format: str
    position: int
    mark: str
    fingerprint: Fingerprint
    state: bytes
    reading: int
    since: int


class _Count(NamedTuple):
    reading: int
    seen: int
    sent: int


class Admission:
    """Decides which records of one batch are new. Nothing is remembered before `Store.save`."""

    def __init__(self, store: Store, reading: int) -> None:
        self._store = store
        self.reading = reading
        self.counts: dict[bytes, _Count] = {}

    def is_new(self, session_id: object, event_id: object, *, early: bool = False) -> bool:
        """Count a record, and tell whether the destination does not have it.

        ``early`` says that the same reading may come to the record again.
        """
        key = blake2b(f"{session_id}\0{event_id}".encode("utf-8", "replace"), digest_size=16).digest()
        count = self.counts.get(key) or self._store.count(key) or _Count(self.reading, 0, 0)
        seen = count.seen if count.reading == self.reading else 0
        nth = seen + 1
        self.counts[key] = _Count(self.reading, seen if early else nth, max(count.sent, nth))
        return nth > count.sent


class Store:
    """The memory for one destination, in a file that several destinations may share.

    Args:
        path: The file, or `IN_MEMORY`.
        destination: Where the records go.
        now: Seconds since 1970, for what is so old that it may be forgotten.

    Raises:
        ConfigurationError: the file cannot be opened, or is none of ours.
    """

    def __init__(self, path: Path | str, destination: str, now: float) -> None:
        self._day = int(now // _DAY_S)
        self._path = path
        with self._explained():
            if isinstance(path, Path):
                path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                self._destination = self._prepared(destination)
            except BaseException:
                self._base.close()
                raise

    def _prepared(self, destination: str) -> int:
        """Create what is missing, and return the number of the destination.

        Raises:
            ConfigurationError: the file is none of ours.
        """
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=NORMAL")
        (version,) = self._base.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise ConfigurationError(
                f"{self._path}: written by another version of Eddy. Give another file with --state"
            )
        self._base.executescript(_TABLES)
        self._base.execute(f"PRAGMA user_version={_VERSION}")
        self._base.execute("INSERT OR IGNORE INTO destinations (name) VALUES (?)", (destination,))
        found = self._base.execute("SELECT id FROM destinations WHERE name = ?", (destination,))
        (number,) = found.fetchone()
        return int(number)

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def forget(self) -> None:
        """Forget what this destination has: it is there no more."""
        with self._transaction():
            for table in ("files", "sent"):
                self._base.execute(f"DELETE FROM {table} WHERE destination = ?", (self._destination,))  # noqa: S608

    def forget_the_old(self) -> None:
        """Forget what was not met for 90 days."""
        with self._transaction():
            for table in ("files", "sent"):
                self._base.execute(
                    f"DELETE FROM {table} WHERE destination = ? AND day < ?",  # noqa: S608
                    (self._destination, self._day - _DAYS_KEPT),
                )

    @property
    def content(self) -> str | None:
        """Return which content this destination was allowed to get, None if nobody was asked."""
        found = self._base.execute("SELECT content FROM destinations WHERE id = ?", (self._destination,))
        content: str | None = found.fetchone()[0]
        return content

    def allow(self, content: str) -> None:
        """Remember which content this destination may get."""
        with self._explained():
            self._base.execute(
                "UPDATE destinations SET content = ? WHERE id = ?", (content, self._destination)
            )

    def new_reading(self) -> int:
        """Return the number of a reading that begins."""
        with self._explained():
            number = self._base.execute("INSERT INTO readings DEFAULT VALUES").lastrowid
            assert number is not None
            self._base.execute("DELETE FROM readings WHERE id < ?", (number,))
            return number

    def of(self, identity: FileIdentity) -> Checkpoint | None:
        """Return the checkpoint of a file."""
        return self._found("device = ? AND inode = ?", identity)

    def called(self, path: str) -> Checkpoint | None:
        """Return the checkpoint of the file that had this name last."""
        return self._found("path = ?", (_writable(path),))

    def count(self, key: bytes) -> _Count | None:
        """Return how often a record was met and sent."""
        found = self._base.execute(
            "SELECT reading, seen, sent FROM sent WHERE destination = ? AND id = ?", (self._destination, key)
        ).fetchone()
        return None if found is None else _Count(*found)

    def save(self, checkpoint: Checkpoint | None, admitted: Admission) -> None:
        """Remember at once how far a file was read and what was sent of it."""
        with self._transaction():
            self._base.executemany(
                "INSERT OR REPLACE INTO sent VALUES (?, ?, ?, ?, ?, ?)",
                [(self._destination, key, *count, self._day) for key, count in admitted.counts.items()],
            )
            if checkpoint is not None:
                if checkpoint.mark:  # programs replace documents by new files
                    self._base.execute(
                        "DELETE FROM files WHERE destination = ? AND path = ?",
                        (self._destination, _writable(checkpoint.path)),
                    )
                self._base.execute(
                    "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        self._destination,
                        *checkpoint.identity,
                        _writable(checkpoint.path),
                        *checkpoint[2:5],
                        *checkpoint.fingerprint,
                        checkpoint.state,
                        checkpoint.reading,
                        checkpoint.since,
                        self._day,
                    ),
                )

    def _found(self, where: str, values: tuple[object, ...]) -> Checkpoint | None:
        query = (
            f"SELECT {_COLUMNS} FROM files WHERE destination = ? AND {where} ORDER BY reading DESC LIMIT 1"  # noqa: S608
        )
        with self._explained():
            found = self._base.execute(query, (self._destination, *values)).fetchone()
        if found is None:
            return None
        device, inode, path, name, position, mark, first, last, state, reading, since = found
        return Checkpoint(
            FileIdentity(device, inode),
            os.fsdecode(path),
            name,
            position,
            mark,
            Fingerprint(first, last),
            state,
            reading,
            since,
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._explained():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise ConfigurationError(
                f"{self._path}: {error}. It holds how far files were read. Make room, or give another file "
                "with --state; everything is read and sent again then"
            ) from error


@contextmanager
def alone(state: Path, destination: str) -> Iterator[None]:
    """Be the only process that sends to a destination: two would send everything twice.

    The end of the process ends it, however it comes.

    Raises:
        ConfigurationError: another process does, or the folder cannot be written.
    """
    name = blake2b(destination.encode("utf-8", "replace"), digest_size=8).hexdigest()
    path = state.with_name(f"{state.name}.{name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigurationError(
            f"{path}: {error}. Give a folder that can be written with --state"
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        raise ConfigurationError(
            f"Another `eddy ingest` sends to {destination}. Stop it, or give another --state"
        ) from error
    try:
        yield
    finally:
        os.close(file)


def _writable(path: str) -> str | bytes:
    """Return a path as a value that can be stored: its bytes if it is not UTF-8."""
    return os.fsencode(path) if any("\udc80" <= each <= "\udcff" for each in path) else path
