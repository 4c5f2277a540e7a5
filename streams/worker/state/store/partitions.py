"""The databases of one worker, by partition."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rocksdict import BlockBasedIndexType, BlockBasedOptions, Cache, DBCompressionType, Options

from streams.core.errors import DamagedStateError, StateError
from streams.worker.state.store.damage import set_aside
from streams.worker.state.store.partition import PartitionStore

#: RocksDB's log of itself: bytes of a file, and files.
_LOG_BYTES, _LOGS_KEPT = 1 << 20, 3

#: Keys in a row, the deletions among them that trigger a compaction, and the same as a share.
_MANY_DELETIONS = 10_000, 5_000, 0.5


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """What an operator may tune in RocksDB; all sizes in bytes.

    RocksDB's own bindings would give each partition 2 GiB of cache and 192 MiB of write buffers: too much
    for a worker with eight partitions.
    """

    block_cache_bytes: int = 64 << 20
    """The block cache of a table, shared by its partitions."""
    write_buffer_bytes: int = 16 << 20
    """The size of one memtable; each partition has up to ``max_write_buffers``."""
    max_write_buffers: int = 3
    max_open_files: int = 256
    """Files that each partition may have open."""
    bloom_bits: int = 10
    """Per key: 10 bits let 1 % of the look-ups of unknown sessions reach the disk."""

    @property
    def stretch_bytes(self) -> int:
        """What a stretch of writes may hold, see `Continuity`: several fit into a memtable."""
        return self.write_buffer_bytes // 4

    def to_options(self, cache: Cache) -> Options:
        """Return them in RocksDB's own words."""
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_max_open_files(self.max_open_files)
        options.set_write_buffer_size(self.write_buffer_bytes)
        options.set_max_write_buffer_number(self.max_write_buffers)
        options.set_compression_type(DBCompressionType.lz4())
        # Its log of itself grows without an end else, and each start begins another one.
        options.set_max_log_file_size(_LOG_BYTES)
        options.set_keep_log_file_num(_LOGS_KEPT)
        options.set_stats_dump_period_sec(0)
        # A file full of deletions is compacted soon: a scan of the keys has to step over each.
        options.add_compact_on_deletion_collector_factory(*_MANY_DELETIONS)
        tables = BlockBasedOptions()
        tables.set_bloom_filter(self.bloom_bits, block_based=False)
        tables.set_block_cache(cache)
        tables.set_index_type(BlockBasedIndexType.binary_search())
        options.set_block_based_table_factory(tables)
        return options


#: A database that is damaged again so soon is not restored again: then it is the disk, or the memory.
_AGAIN_S = 3600.0

log = logging.getLogger(__name__)


class PartitionStores:
    """The databases of one worker, opened when first asked for.

    Args:
        directory: Directory that the databases are in.
        options: What is tuned in RocksDB, such as sizes in bytes.
        on_set_aside: Called when a damaged database was set aside.
    """

    def __init__(
        self, directory: Path, options: StoreOptions, on_set_aside: Callable[[], None] = lambda: None
    ) -> None:
        self.directory = directory
        self._options = options
        self._on_set_aside = on_set_aside
        self._cache = Cache(options.block_cache_bytes)
        self._open: dict[int, PartitionStore] = {}
        #: When a database was set aside, by partition (monotonic).
        self._set_aside_at: dict[int, float] = {}

    def __getitem__(self, partition: int) -> PartitionStore:
        store = self._open.get(partition)
        if store is None:
            path = self.directory / f"{partition}.db"
            options = self._options.to_options(self._cache)
            store = PartitionStore(path, options, self._options.stretch_bytes)
            self._open[partition] = store
        return store

    def to_restore(self, partition: int) -> PartitionStore:
        """Return the database to restore into; a damaged one is set aside, and an empty one takes its place.

        Raises:
            StateError: it cannot be used, or was damaged twice within an hour.
        """
        try:
            store = self[partition]
        except DamagedStateError as error:
            problem = error.problem
        else:
            if store.damage is None:
                return store
            problem = store.damage
        return self._anew(partition, problem)

    def _anew(self, partition: int, problem: str) -> PartitionStore:
        path, now = self.directory / f"{partition}.db", time.monotonic()
        if now - self._set_aside_at.get(partition, -_AGAIN_S) < _AGAIN_S:
            raise StateError(
                f"{path} is damaged again within an hour ({problem}). Check the disk and the memory of the "
                "machine, then start the worker again: it restores the state from the changelog."
            )
        damaged = self._open.get(partition)
        changelog = None if damaged is None else damaged.changelog()
        self.close(partition)
        kept = set_aside(path)
        self._set_aside_at[partition] = now
        log.warning(
            "%s is damaged (%s). It is set aside as %s and restored from the changelog: nothing is lost, "
            "there is nothing to do. The next one that is set aside replaces it.",
            path,
            problem,
            kept,
        )
        self._on_set_aside()
        store = self[partition]
        if changelog is not None:
            store.bind(changelog)
        return store

    def beside(self) -> PartitionStores:
        """Return more databases in the same directory with a share in the same cache, none of them open."""
        other = PartitionStores(self.directory, self._options, self._on_set_aside)
        other._cache = self._cache
        other._set_aside_at = self._set_aside_at
        return other

    def take(self, partition: int, other: PartitionStores) -> None:
        """Take a database over from ``other`` as it is, if it is open there."""
        store = other._open.pop(partition, None)
        if store is not None:
            self._open[partition] = store

    def discard(self, partition: int) -> None:
        """Delete a database; asking for it again makes an empty one, of the same changelog."""
        path, changelog = self[partition].path, self[partition].changelog()
        self.close(partition)
        shutil.rmtree(path)
        if changelog is not None:
            self[partition].bind(changelog)

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
