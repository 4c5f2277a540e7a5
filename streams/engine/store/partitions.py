"""The databases of one worker, by partition."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from rocksdict import Cache

from streams.engine.store.options import StoreOptions
from streams.engine.store.partition import PartitionStore


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

    def beside(self) -> PartitionStores:
        """Return more databases in the same directory with a share in the same cache, none of them open."""
        other = PartitionStores(self.directory, self._options)
        other._cache = self._cache
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
