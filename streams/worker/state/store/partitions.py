"""The databases of one worker, by partition."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rocksdict import Cache

from streams.core.errors import DamagedStateError, StateError
from streams.worker.state.store.options import StoreOptions
from streams.worker.state.store.partition import PartitionStore
from streams.worker.state.store.set_aside import set_aside

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
