"""The per-session table: a Faust table over RocksDB that is written back once per epoch.

Faust's own tables write the changelog and RocksDB at each assignment, from inside a stream iteration. Here
an epoch takes a `SessionView` of its partition, works on decoded sessions in memory, and hands the dirty ones
back when the broker has acknowledged their changelog records. Faust still names, declares and co-partitions
the changelog and tells the table about rebalances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import faust
from faust.stores.base import SerializedStore
from faust.types import TP

from streams.domain.session import Session
from streams.engine.changelog import SETTINGS_KEY, decode_session, session_key
from streams.engine.settings_ledger import SettingsLedger
from streams.engine.store import PartitionStores, StoreOptions


class SessionView:
    """One partition's sessions as an epoch sees them: stored state below, its own changes on top."""

    def __init__(self, cached: dict[str, Session]) -> None:
        self._cached = cached
        self.changed: dict[str, Session] = {}

    def get(self, session_id: str) -> Session | None:
        """Return the session as it is now, None when there is none."""
        return self.changed.get(session_id) or self._cached.get(session_id)

    def put(self, session: Session, session_id: str) -> None:
        """Set the session's state; written when the epoch ends."""
        self.changed[session_id] = session


class _Partition:
    """Decoded sessions and settings of one partition.

    The cache has two generations, so that bounding it costs nothing per look-up: when the young one is
    full it becomes the old one, and the old one is forgotten.
    """

    __slots__ = ("ledger", "old", "unseen", "young")

    def __init__(self, ledger: SettingsLedger) -> None:
        self.ledger = ledger
        self.unseen: int | None = None
        self.young: dict[str, Session] = {}
        self.old: dict[str, Session] = {}


class SessionStore(SerializedStore[bytes, bytes]):
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


class SessionTable(faust.Table[bytes, bytes]):
    """Sessions by id, partitioned like `decision-logs`.

    Args:
        app: The Faust app.
        directory: Where the databases are; one worker's own.
        options: RocksDB's.
        cached_sessions: How many decoded sessions are kept in memory at most, in all partitions together.
        kwargs: Of `faust.Table`.
    """

    def __init__(
        self,
        app: Any,
        *,
        directory: Path,
        options: StoreOptions,
        cached_sessions: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(app, key_type=bytes, value_type=bytes, **kwargs)
        self.stores = PartitionStores(directory, options)
        self._cached_sessions = cached_sessions
        self._partitions: dict[int, _Partition] = {}

    def _new_store(self) -> SessionStore:
        return SessionStore(
            "sessions://",
            self.app,
            self,
            stores=self.stores,
            table_name=self.name,
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
            loop=self.loop,
        )

    def _partition(self, partition: int) -> _Partition:
        found = self._partitions.get(partition)
        if found is None:
            ledger = SettingsLedger.decode(self.stores[partition].get(SETTINGS_KEY))
            found = self._partitions[partition] = _Partition(ledger)
        return found

    def ledger(self, partition: int) -> SettingsLedger:
        """Return the partition's settings by offset."""
        return self._partition(partition).ledger

    def unseen(self, partition: int, end: int | None) -> int:
        """Return the offset from which on no earlier owner of the partition can have put anything out.

        That is what the ledger had reserved when the partition was assigned, or the ``end`` of the
        partition at its first run, where that comes first.
        """
        state = self._partition(partition)
        if state.unseen is None:
            reserved = state.ledger.reserved
            state.unseen = reserved if end is None else min(reserved, end)
        return state.unseen

    def settings_versions(self) -> dict[int, int]:
        """Return the version of the newest settings of each partition in use."""
        return {number: state.ledger.newest.settings.version for number, state in self._partitions.items()}

    def view(self, partition: int, session_ids: Iterable[str]) -> SessionView:
        """Return the partition's sessions for one epoch, those of ``session_ids`` read and decoded."""
        state = self._partition(partition)
        if len(state.young) * 2 > self._cached_sessions // len(self._partitions):
            state.old, state.young = state.young, {}
        young, old = state.young, state.old
        missing = []
        for session_id in session_ids:
            if session_id in young:
                continue
            session = old.get(session_id)
            if session is not None:
                young[session_id] = session
            else:
                missing.append(session_id)
        if missing:
            stored = self.stores[partition].get_many([session_key(session_id) for session_id in missing])
            for session_id, value in zip(missing, stored, strict=True):
                if value is not None:
                    young[session_id] = decode_session(value)
        return SessionView(young)

    def write_sessions(
        self, partition: int, view: SessionView, items: Iterable[tuple[bytes, bytes | None]], offset: int
    ) -> None:
        """Make an epoch's changes the partition's state; their changelog records end at ``offset``."""
        self.stores[partition].write(items, offset)
        self._partition(partition).young.update(view.changed)

    def write_ledger(self, partition: int, ledger: SettingsLedger, encoded: bytes, offset: int) -> None:
        """Make ``ledger`` the partition's settings; its changelog record is at ``offset``."""
        self.stores[partition].write([(SETTINGS_KEY, encoded)], offset)
        self._partition(partition).ledger = ledger

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Forget what was decoded, and release the databases of partitions that went away."""
        self._partitions.clear()
        for tp in revoked:
            if tp.topic == self.changelog_topic_name:
                self.stores.close(tp.partition)
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)

    async def on_recovery_completed(self, active_tps: set[TP], standby_tps: set[TP]) -> None:
        """Forget what was decoded before the restore wrote underneath."""
        self._partitions.clear()
        await super().on_recovery_completed(active_tps, standby_tps)
