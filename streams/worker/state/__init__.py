"""What a worker remembers: tables over RocksDB, their changelogs, and how they are restored."""
