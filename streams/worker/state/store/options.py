"""What an operator may tune in RocksDB, and what it is set to besides."""

from __future__ import annotations

from dataclasses import dataclass

from rocksdict import BlockBasedIndexType, BlockBasedOptions, Cache, DBCompressionType, Options

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
