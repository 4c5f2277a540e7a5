"""The storage of a table as Faust sees it: it can be read by key; only epochs write to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from faust.stores.base import SerializedStore
from faust.types import TP

from streams.worker.state.store import PartitionStores


class TableStore(SerializedStore[bytes, bytes]):
    """The table's storage as Faust sees it: readable by key, written by epochs only."""

    def __init__(self, *args: Any, stores: PartitionStores, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stores = stores

    def persisted_offset(self, tp: TP) -> int | None:
        """Return the changelog offset the partition's database is up to."""
        return self.stores[tp.partition].offset()

    def _get(self, key: bytes) -> bytes | None:
        for store in list(self.stores.opened().values()):
            if (found := store.get(key)) is not None:
                return found
        return None

    def _iteritems(self) -> Iterator[tuple[bytes, bytes]]:
        for store in list(self.stores.opened().values()):
            yield from store.items()

    def _iterkeys(self) -> Iterator[bytes]:
        return (key for key, _ in self._iteritems())

    def _itervalues(self) -> Iterator[bytes | None]:
        return (value for _, value in self._iteritems())

    def _size(self) -> int:
        return sum(1 for _ in self._iteritems())

    def _contains(self, key: bytes) -> bool:
        return self._get(key) is not None

    def _set(self, key: bytes, value: bytes | None) -> NoReturn:
        raise TypeError(f"The table is written by epochs only, not by assignment (key {key!r}, {value!r}).")

    def _del(self, key: bytes) -> NoReturn:
        raise TypeError(f"The table is written by epochs only, not by deletion (key {key!r}).")

    def _clear(self) -> NoReturn:
        raise TypeError("The table is written by epochs only.")

    async def backup_partition(self, *_: Any, **__: Any) -> None:
        """Refuse: the changelog is the backup."""
        raise TypeError("There are no local backups; the changelog restores the table.")

    def restore_backup(self, *_: Any, **__: Any) -> None:
        """Refuse: the changelog is the backup."""
        raise TypeError("There are no local backups; the changelog restores the table.")

    async def stop(self) -> None:
        """Release the databases and their locks."""
        self.stores.close_all()
        await super().stop()

    def reset_state(self) -> NoReturn:
        """Refuse: deleting the data directory is the operator's decision."""
        raise TypeError(f"Delete {self.stores.directory} to reset the local state.")
