"""One RocksDB database per partition: sessions and the changelog offset they correspond to.

Everything in here is rocksdict; the rest of Eddy sees bytes in, bytes out. A write is one batch that holds
the values *and* the changelog offset, so a database is always exactly as far as it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
)

from streams.errors import StateError

#: Of the layout of keys in a database. Raised when a database of one layout cannot be read as another.
FORMAT = b"1"

_FORMAT_KEY = b"\x00format"
_OFFSET_KEY = b"\x00offset"

#: What a database has beside its data: the lock, logs, and a file of the bindings.
_NOT_DATA = frozenset({"LOCK", "LOG", "rocksdict-config.json"})


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """What an operator may tune in RocksDB; all sizes in bytes.

    RocksDB's own bindings would give each partition 2 GiB of cache and 192 MiB of write buffers: too much
    for a worker with eight partitions.
    """

    block_cache_bytes: int = 64 << 20
    """Of the worker, shared by its partitions."""
    write_buffer_bytes: int = 16 << 20
    """Of one memtable; each partition has up to ``max_write_buffers``."""
    max_write_buffers: int = 3
    max_open_files: int = 256
    """Of each partition."""
    bloom_bits: int = 10
    """Per key: 10 bits let 1 % of the look-ups of unknown sessions reach the disk."""

    def to_options(self, cache: Cache) -> Options:
        """Return them in RocksDB's own words."""
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_max_open_files(self.max_open_files)
        options.set_write_buffer_size(self.write_buffer_bytes)
        options.set_max_write_buffer_number(self.max_write_buffers)
        options.set_compression_type(DBCompressionType.lz4())
        tables = BlockBasedOptions()
        tables.set_bloom_filter(self.bloom_bits, block_based=False)
        tables.set_block_cache(cache)
        tables.set_index_type(BlockBasedIndexType.binary_search())
        options.set_block_based_table_factory(tables)
        return options


class PartitionStore:
    """The database of one partition.

    Raises:
        StateError: the database is used by another worker, damaged, or of another format.
    """

    def __init__(self, path: Path, options: Options) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = Rdict(str(path), options=options)
        except Exception as error:
            raise _unusable(path, error) from error
        found = self._db.get(_FORMAT_KEY)
        if found is None:
            self._db.put(_FORMAT_KEY, FORMAT)
        elif found != FORMAT:
            self._db.close()
            raise StateError(
                f"{path} has state of format {found!r}, this version writes {FORMAT!r}. "
                "Stop the worker, delete the directory and start it again: the changelog restores it."
            )

    def offset(self) -> int | None:
        """Return the changelog offset this database is up to, None when it is empty."""
        found = self._db.get(_OFFSET_KEY)
        return int(found) if found is not None else None

    def get(self, key: bytes) -> bytes | None:
        """Return one value."""
        found: bytes | None = self._db.get(key)
        return found

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of ``keys``, in their order."""
        found: Any = self._db.get(list(keys))
        values: list[bytes | None] = found
        return values

    def write(self, items: Iterable[tuple[bytes, bytes | None]], offset: int | None) -> None:
        """Put (or with None delete) ``items`` and move to changelog ``offset`` if given, all or nothing."""
        batch = WriteBatch(raw_mode=True)
        for key, value in items:
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        if offset is not None:
            batch.put(_OFFSET_KEY, b"%d" % offset)
        try:
            self._db.write(batch)
        except Exception as error:
            raise _unusable(self.path, error) from error

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield everything stored, without the store's own keys."""
        stored: Any = self._db.items()
        for key, value in stored:
            if not key.startswith((_FORMAT_KEY, _OFFSET_KEY)):
                yield key, value

    def close(self) -> None:
        """Release the database and its lock."""
        self._db.close()


class StoreLook(NamedTuple):
    """What a database says of itself. ``written_at`` is in seconds since 1970."""

    format: bytes | None
    offset: int | None
    written_at: float


def look(path: Path) -> StoreLook:
    """Look into a database that may be in use, and change nothing in it.

    RocksDB's bindings write a file of their own into every database they open, so a folder of links to the
    files is opened in its place.

    Raises:
        StateError: it cannot be read.
    """
    try:
        with TemporaryDirectory(prefix="eddy-look-") as links:
            files = [file for file in path.resolve().iterdir() if file.name not in _NOT_DATA]
            for file in files:
                (Path(links) / file.name).symlink_to(file)
            written_at = max((file.stat().st_mtime for file in files), default=0.0)
            database = Rdict(links, options=Options(raw_mode=True), access_type=AccessType.read_only())
            try:
                offset = database.get(_OFFSET_KEY)
                return StoreLook(
                    database.get(_FORMAT_KEY), None if offset is None else int(offset), written_at
                )
            finally:
                database.close()
    except Exception as error:
        raise _unusable(path, error) from error


class PartitionStores:
    """The databases of one worker, opened when first asked for."""

    def __init__(self, directory: Path, options: StoreOptions) -> None:
        self.directory = directory
        self._options = options
        self._cache = Cache(options.block_cache_bytes)
        self._open: dict[int, PartitionStore] = {}

    def __getitem__(self, partition: int) -> PartitionStore:
        store = self._open.get(partition)
        if store is None:
            path = self.directory / f"{partition}.db"
            store = self._open[partition] = PartitionStore(path, self._options.to_options(self._cache))
        return store

    def opened(self) -> Mapping[int, PartitionStore]:
        """Return the databases that are open, by partition."""
        return self._open

    def close(self, partition: int) -> None:
        """Release one partition; asking for it again opens it again."""
        store = self._open.pop(partition, None)
        if store is not None:
            store.close()

    def close_all(self) -> None:
        """Release every partition."""
        for partition in list(self._open):
            self.close(partition)


def _unusable(path: Path, error: Exception) -> StateError:
    if "lock" in str(error).lower():
        return StateError(
            f"{path} is used by another process ({error}). Give every worker a data directory of its own "
            "(EDDY_DATA_DIR)."
        )
    return StateError(
        f"{path} cannot be used ({error}). Check the free space of the disk; if the files are damaged, "
        "delete "
        "the directory and start the worker again: the changelog restores it."
    )
