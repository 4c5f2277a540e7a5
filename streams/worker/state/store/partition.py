"""The database of one partition."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from rocksdict import DbClosedError, Options, Rdict, WriteBatch, WriteOptions

from streams.core.errors import DamagedStateError, StateError
from streams.worker.state.changelog import Restorable
from streams.worker.state.store.continuity import PREFIX, Continuity, Stretch
from streams.worker.state.store.damage import check_log_files, unusable
from streams.worker.state.store.layout import (
    BEHIND,
    CHANGELOG_KEY,
    FORMAT,
    FORMAT_KEY,
    OFFSET_KEY,
    OWN_KEYS,
    TOUCHED,
    WRITTEN_KEY,
    is_older,
)

log = logging.getLogger(__name__)


#: What an entry takes in a memtable beside its key and value, at most.
_ENTRY_BYTES = 64


class PartitionStore:
    """The database of one partition. One of an older format is discarded: the changelog restores it.

    Args:
        path: Directory of the files of the database.
        options: RocksDB's options to open it with.
        stretch_bytes: A fraction of a memtable, see `Continuity`.

    Raises:
        DamagedStateError: its files are damaged.
        StateError: the database is used by another worker, of a newer format, or the disk refuses.
    """

    def __init__(self, path: Path, options: Options, stretch_bytes: int) -> None:
        self.path = path
        #: What was found to be damaged, once something was. Nothing is written from then on.
        self.damage: str | None = None
        #: Threads that restore must not write into a database that is being closed.
        self._lock = threading.RLock()
        self._unlogged = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            check_log_files(path)
        except OSError as error:
            raise unusable(path, error) from error
        self._db = _open(path, options)
        try:
            found = self._read(FORMAT_KEY)
            if found is not None and is_older(found):
                self._db.close()
                log.warning(
                    "%s has state of format %s, which this version does not read. It is discarded and "
                    "restored from the changelog.",
                    path,
                    found.decode(),
                )
                shutil.rmtree(path)
                self._db, found = _open(path, options), None
            if found is not None:
                _check_format(path, found)
            self._continuity = self._checked(stretch_bytes)
            if found is None:
                self._db.put(FORMAT_KEY, FORMAT)
            changelog = self._read(CHANGELOG_KEY)
        except BaseException:
            self.close()
            raise
        self._changelog: str | None = None if changelog is None else changelog.decode()

    def _checked(self, stretch_bytes: int) -> Continuity:
        """Return how the writes continue, if none is missing."""
        stored: Any = self._db.items(from_key=PREFIX)
        entries = list(takewhile(lambda entry: entry[0].startswith(PREFIX), stored))
        del stored  # like every iterator, it would keep the database open for as long as an error is known
        self._check_end_behind(entries[-1][0] if entries else PREFIX)
        try:
            return Continuity((Stretch.of(*entry) for entry in entries), stretch_bytes)
        except ValueError as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> StateError:
        """Return what to raise for an error, and remember damage."""
        found = (
            DamagedStateError(self.path, str(error))
            if isinstance(error, ValueError)
            else unusable(self.path, error)
        )
        if isinstance(found, DamagedStateError):
            self.damage = found.problem
        return found

    def offset(self) -> int | None:
        """Return the changelog offset this database is up to, None when it is empty."""
        found = self._read(OFFSET_KEY)
        return int(found) if found is not None else None

    def written_at(self) -> int | None:
        """Return when the database was last known to be up to its offset, ms; None when it is empty."""
        found = self._read(WRITTEN_KEY)
        return int(found) if found is not None else None

    def changelog(self) -> str | None:
        """Return the id of the changelog this database was filled from, None when it was not noted."""
        return self._changelog

    def bind(self, changelog_id: str) -> None:
        """Take note of the id of the changelog."""
        self._db.put(CHANGELOG_KEY, changelog_id.encode())
        self._changelog = changelog_id

    def get(self, key: bytes) -> bytes | None:
        """Return one value."""
        found: bytes | None = self._read(key)
        return None if found is None else found[BEHIND:]

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of ``keys``, in their order."""
        found = self._read(list(keys))
        return [None if value is None else value[BEHIND:] for value in found]

    def entries(self, keys: Sequence[bytes]) -> list[tuple[int, bytes] | None]:
        """Return when each of ``keys`` was touched (ms) and its value, in their order."""
        found = self._read(list(keys))
        unpack = TOUCHED.unpack_from
        return [None if value is None else (unpack(value)[0], value[BEHIND:]) for value in found]

    def _read(self, keys: Any) -> Any:
        try:
            return self._db.get(keys)
        except DbClosedError:
            raise
        except Exception as error:
            raise self._damaged(error) from error

    def size(self) -> int:
        """Return about how many entries there are: what is written over and deleted may count for a while."""
        return int(self._db.property_int_value("rocksdb.estimate-num-keys") or 0)

    def write(self, items: Iterable[tuple[bytes, bytes | None]], offset: int | None, at_ms: int) -> None:
        """Put (or with None delete) ``items`` and move to changelog ``offset`` if given, all or nothing.

        Args:
            items: Keys and their new values, None to delete.
            offset: The database is up to this one from now on.
            at_ms: When that is; it touches all ``items``.
        """
        touched = TOUCHED.pack(at_ms)
        batch = WriteBatch(raw_mode=True)
        for key, value in items:
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, touched + value)
        self._write(batch, offset, at_ms)

    def restore(
        self,
        records: Iterable[Restorable],
        offset: int,
        at_ms: int,
        *,
        untimed_ms: int = 0,
        logged: bool = True,
    ) -> None:
        """Do as `write` does with changelog records, each written at a time of its own.

        Args:
            records: Records of the changelog in their order, also none.
            offset: The database is up to this one from now on.
            at_ms: When the changelog was at that offset, ms since 1970.
            untimed_ms: The time of a record without one.
            logged: Without, a crash takes the database back to where it was at an earlier call; `flush`
                ends that. It takes a third of the time.
        """
        pack, touched, touched_ms = TOUCHED.pack, b"", None
        batch = WriteBatch(raw_mode=True)
        put = batch.put
        for record in records:
            value = record.value
            if value is None:
                batch.delete(record.key)
                continue
            if record.timestamp != touched_ms:
                touched_ms = record.timestamp
                touched = pack(untimed_ms if touched_ms < 0 else touched_ms)
            put(record.key, touched + value)
        self._write(batch, offset, at_ms, logged=logged)

    def flush(self) -> None:
        """Make durable what was restored without a log."""
        with self._lock:
            if self._unlogged:
                try:
                    self._db.flush()
                except Exception as error:
                    raise self._damaged(error) from error
                self._unlogged = False
                self._continuity.cut()

    def _write(self, batch: WriteBatch, offset: int | None, at_ms: int, *, logged: bool = True) -> None:
        if offset is not None:
            batch.put(OFFSET_KEY, b"%d" % offset)
            batch.put(WRITTEN_KEY, b"%d" % at_ms)
        if logged and self._unlogged:
            self.flush()  # a log that goes on behind a gap would be replayed over it
        with self._lock:
            if self.damage is not None:
                raise DamagedStateError(self.path, self.damage)
            stretch, done = self._continuity.next()
            batch.put(stretch.key, stretch.value)
            if done is not None:
                batch.delete(done)
            size = batch.size_in_bytes() + _ENTRY_BYTES * batch.len()
            try:
                if logged:
                    self._db.write(batch)
                else:
                    self._unlogged = True
                    self._db.write(batch, _unlogged())
            except Exception as error:
                raise self._damaged(error) from error
            self._continuity.written(stretch, size)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield everything stored, without the store's own keys."""
        return ((key, value) for key, _, value in self._from(None))

    def scan(self, after: bytes, limit: int) -> list[tuple[bytes, int, bytes]]:
        """Return the next entries behind a key, in the order of their keys: key, touched at (ms), value.

        Args:
            after: The last key seen; empty for the beginning.
            limit: How many entries at most. Only at the end there are fewer.
        """
        return list(islice(self._from(after + b"\x00" if after else None), limit))

    def _from(self, key: bytes | None) -> Iterator[tuple[bytes, int, bytes]]:
        unpack = TOUCHED.unpack_from
        stored: Any = self._db.items(from_key=key)
        for found, value in stored:
            key = found
            if found not in OWN_KEYS and not found.startswith(PREFIX):
                yield found, unpack(value)[0], value[BEHIND:]
        del stored  # see `_checked`
        self._check_end_behind(key)

    def _check_end_behind(self, key: bytes | None) -> None:
        """Refuse an end that is none: the bindings' iteration stops without a word at what it cannot read."""
        behind = self._db.iter()
        try:
            if key is None:
                behind.seek_to_first()
            else:
                behind.seek(key + b"\x00")
            behind.status()
        except Exception as error:
            del behind  # see `_checked`
            raise self._damaged(error) from error

    def is_empty(self) -> bool:
        """Tell whether it holds no values."""
        return next(self._from(None), None) is None

    def close(self) -> None:
        """Release the database and its lock."""
        with self._lock:
            try:
                self._db.close()
            except Exception as error:  # noqa: BLE001 - it is closed all the same
                log.log(
                    logging.DEBUG if self.damage is not None else logging.WARNING,
                    "%s was closed with an error: %s. What it lacks is restored when it is opened again.",
                    self.path,
                    error,
                )


def _check_format(path: Path, found: bytes) -> None:
    if found != FORMAT:
        raise StateError(
            f"{path} has state of format {found!r}, this version writes {FORMAT!r}. "
            "Stop the worker, delete the directory and start it again: the changelog restores it."
        )


def _unlogged() -> WriteOptions:
    options = WriteOptions()
    options.disable_wal = True  # type: ignore[method-assign,assignment]  # the stubs call it a method
    return options


def _open(path: Path, options: Options) -> Rdict:
    try:
        return Rdict(str(path), options=options)
    except Exception as error:
        raise unusable(path, error) from error
