"""The console's memory on disk: the read model's rows in SQLite, a cache that may be deleted at any time."""
