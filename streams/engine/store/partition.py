"""The database of one partition."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rocksdict import DbClosedError, Options, Rdict, WriteBatch, WriteOptions

from streams.engine.changelog import Restorable
from streams.engine.store.layout import (
    BEHIND,
    CHANGELOG_KEY,
    FORMAT,
    FORMAT_KEY,
    OFFSET_KEY,
    OWN_KEYS,
    TOUCHED,
    WRITTEN_KEY,
    is_older,
    unusable,
)
from streams.errors import StateError

log = logging.getLogger(__name__)


class PartitionStore:
    """The database of one partition. One of an older format is discarded: the changelog restores it.

    Raises:
        StateError: the database is used by another worker, damaged, or of a newer format.
    """

    def __init__(self, path: Path, options: Options) -> None:
        self.path = path
        #: Threads that restore must not write into a database that is being closed.
        self._lock = threading.RLock()
        self._unlogged = False
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = _open(path, options)
        found = self._read(FORMAT_KEY)
        if found is not None and is_older(found):
            self._db.close()
            log.warning(
                "%s has state of format %s, which this version does not read. It is discarded and restored "
                "from the changelog.",
                path,
                found.decode(),
            )
            shutil.rmtree(path)
            self._db, found = _open(path, options), None
        if found is None:
            self._db.put(FORMAT_KEY, FORMAT)
        elif found != FORMAT:
            self._db.close()
            raise StateError(
                f"{path} has state of format {found!r}, this version writes {FORMAT!r}. "
                "Stop the worker, delete the directory and start it again: the changelog restores it."
            )

    def offset(self) -> int | None:
        """Return the changelog offset this database is up to, None when it is empty."""
        found = self._read(OFFSET_KEY)
        return int(found) if found is not None else None

    def written_at(self) -> int | None:
        """Return when the database was last known to be up to its offset, ms; None when it is empty."""
        found = self._read(WRITTEN_KEY)
        return int(found) if found is not None else None

    def changelog(self) -> str | None:
        """Return the id of the changelog this database was filled from, None when nobody took note."""
        found = self._read(CHANGELOG_KEY)
        return found.decode() if found is not None else None

    def bind(self, changelog_id: str) -> None:
        """Take note of the id of the changelog."""
        self._db.put(CHANGELOG_KEY, changelog_id.encode())

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
            raise unusable(self.path, error) from error

    def size(self) -> int:
        """Return about how many entries there are: what is written over and deleted may count for a while."""
        return int(self._db.property_int_value("rocksdb.estimate-num-keys") or 0)

    def write(self, items: Iterable[tuple[bytes, bytes | None]], offset: int | None, at_ms: int) -> None:
        """Put (or with None delete) ``items`` and move to changelog ``offset`` if given, all or nothing.

        Args:
            items: Keys and values.
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
            records: Any number.
            offset: The database is up to this one from now on.
            at_ms: When it was.
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
                    raise unusable(self.path, error) from error
                self._unlogged = False

    def _write(self, batch: WriteBatch, offset: int | None, at_ms: int, *, logged: bool = True) -> None:
        if offset is not None:
            batch.put(OFFSET_KEY, b"%d" % offset)
            batch.put(WRITTEN_KEY, b"%d" % at_ms)
        if logged and self._unlogged:
            self.flush()  # a log that goes on behind a gap would be replayed over it
        with self._lock:
            try:
                if logged:
                    self._db.write(batch)
                else:
                    self._unlogged = True
                    self._db.write(batch, _unlogged())
            except Exception as error:
                raise unusable(self.path, error) from error

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield everything stored, without the store's own keys."""
        return ((key, value) for key, _, value in self._from(None))

    def scan(self, after: bytes, limit: int) -> list[tuple[bytes, int, bytes]]:
        """Return the next entries behind a key, in the order of their keys: key, touched at (ms), value.

        Args:
            after: The last key seen; empty for the beginning.
            limit: Of entries. Fewer come at the end only.
        """
        return list(islice(self._from(after + b"\x00" if after else None), limit))

    def _from(self, key: bytes | None) -> Iterator[tuple[bytes, int, bytes]]:
        unpack = TOUCHED.unpack_from
        stored: Any = self._db.items(from_key=key)
        for found, value in stored:
            key = found
            if found not in OWN_KEYS:
                yield found, unpack(value)[0], value[BEHIND:]
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
            raise unusable(self.path, error) from error

    def is_empty(self) -> bool:
        """Tell whether it holds no values."""
        return next(self._from(None), None) is None

    def close(self) -> None:
        """Release the database and its lock."""
        with self._lock:
            self._db.close()


def _unlogged() -> WriteOptions:
    options = WriteOptions()
    options.disable_wal = True  # type: ignore[method-assign,assignment]  # the stubs call it a method
    return options


def _open(path: Path, options: Options) -> Rdict:
    try:
        return Rdict(str(path), options=options)
    except Exception as error:
        raise unusable(path, error) from error
