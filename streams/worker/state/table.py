"""Tables of what an epoch remembers: Faust tables over RocksDB that are written back once per epoch.

Faust's own tables write the changelog and RocksDB at each assignment, from inside a stream iteration. Here
an epoch takes a `StateView` of its partition, works on decoded values in memory, and hands the dirty ones
back when the broker has acknowledged their changelog records. Faust still names, declares and co-partitions
the changelog and tells the table about rebalances.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

import faust
from faust.stores.base import SerializedStore
from faust.types import TP, AppT

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.settings_document import follows
from streams.worker.lifetime.due import Stub, Stubs
from streams.worker.settings_ledger import SettingsLedger
from streams.worker.state.changelog import (
    SESSION_FORMAT,
    SETTINGS_KEY,
    TableFormat,
    decode_session,
    named,
    session_key,
)
from streams.worker.state.checkpoint import MARK_KEY, CheckpointMark, Unsaved
from streams.worker.state.origin import SOURCES_KEY, Ids, decode_sources
from streams.worker.state.store import PartitionStores, StoreOptions


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


V = TypeVar("V")


class StateView(Generic[V]):
    """One partition's values as an epoch sees them: stored state below, its own changes on top."""

    def __init__(self, cached: dict[str, V], changed: dict[str, V] | None = None) -> None:
        self._cached = cached
        self.changed: dict[str, V] = {} if changed is None else changed
        self.removed: dict[str, V] = {}

    def get(self, name: str) -> V | None:
        """Return the value as it is now, None when there is none. Values are never falsy."""
        return self.changed.get(name) or self._cached.get(name)

    def put(self, value: V, name: str) -> None:
        """Set the value; written when the epoch ends."""
        self.changed[name] = value

    def remove(self, value: V, name: str) -> None:
        """Remove a value that is as last written; an epoch that removes it does nothing else to it."""
        self.removed[name] = value


class Generations(Generic[V]):
    """Decoded values of one partition.

    The cache has two generations, so that bounding it costs nothing per look-up: when the young one is
    full it becomes the old one, and the old one is forgotten.
    """

    __slots__ = ("old", "young")

    def __init__(self) -> None:
        self.young: dict[str, V] = {}
        self.old: dict[str, V] = {}


log = logging.getLogger(__name__)


class StateTable(faust.Table[bytes, bytes], Generic[V]):
    """Values by name, partitioned like the topic whose runs change them.

    Args:
        app: The Faust app that the table belongs to.
        form: What a value looks like in the changelog and in RocksDB.
        directory: Where the databases are; one worker's own.
        options: What is tuned in RocksDB, such as sizes in bytes.
        cached: How many decoded values are kept in memory at most, in all partitions together.
        on_set_aside: Told the name of the table when one of its databases was damaged and is set aside.
        kwargs: Further arguments that `faust.Table` takes.
    """

    def __init__(
        self,
        app: AppT,
        *,
        form: TableFormat[V],
        directory: Path,
        options: StoreOptions,
        cached: int,
        on_set_aside: Callable[[str], None] = lambda _table: None,
        **kwargs: Any,
    ) -> None:
        super().__init__(app, key_type=bytes, value_type=bytes, **kwargs)
        self.form = form
        self.stores = PartitionStores(directory, options, partial(on_set_aside, self.name))
        #: Whether each write is a transaction, which leaves a marker behind it in the changelog.
        self.transactional = False
        #: How many bytes a record of the changelog may have.
        self.largest = sys.maxsize
        self._cached = cached
        self._decoded: dict[int, Generations[V]] = {}
        self._incomplete: set[int] = set()
        self._marked: set[int] = set()

    def _new_store(self) -> TableStore:
        return TableStore(
            f"{self.name}://",
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

    def view(self, partition: int, names: Iterable[str]) -> StateView[V]:
        """Return the partition's values for one epoch, those of ``names`` read and decoded."""
        decoded = self._decoded.setdefault(partition, Generations())
        if len(decoded.young) * 2 > self.most():
            decoded.old, decoded.young = decoded.young, {}
        young, old = decoded.young, decoded.old
        missing = []
        for name in names:
            if name in young:
                continue
            value = old.get(name)
            if value is None:
                value = self._waiting(partition, name)
            if value is not None:
                young[name] = value
            else:
                missing.append(name)
        if missing:
            key, decode = self.form.key, self.form.decode
            stored = self.stores[partition].get_many([key(name) for name in missing])
            for name, found in zip(missing, stored, strict=True):
                if found is not None:
                    with named(self.changelog_topic_name, partition, key(name)):
                        young[name] = decode(found)
        return StateView(young)

    def _waiting(self, partition: int, name: str) -> V | None:  # noqa: ARG002 - here nothing waits
        """Return a value that is newer than what is stored."""
        return None

    def begins_at(self, partition: int) -> int | None:  # noqa: ARG002 - here all is written with its run
        """Return the offset from which the source of a partition has to be read again; None for none."""
        return None

    def most(self) -> int:
        """Return how many decoded values a partition may have in memory."""
        return self._cached // max(1, len(self._decoded))

    def write(
        self,
        partition: int,
        view: StateView[V],
        items: Sequence[tuple[bytes, bytes | None]],
        offset: int,
        at_ms: int,
        *,
        goes_on: bool = False,
    ) -> None:
        """Make an epoch's changes the partition's state.

        Args:
            partition: The partition that the epoch changes.
            view: The state that the epoch saw, with its changes.
            items: Their keys and bytes.
            offset: Where their changelog records end.
            at_ms: The time of these.
            goes_on: As `put` takes it.
        """
        self.put(partition, items, offset, at_ms, goes_on=goes_on)
        decoded = self._decoded.setdefault(partition, Generations())
        self._written(partition, view, decoded, at_ms)
        for name in view.removed:
            decoded.young.pop(name, None)
            decoded.old.pop(name, None)

    def _written(self, _partition: int, view: StateView[V], decoded: Generations[V], _at_ms: int) -> None:
        decoded.young.update(view.changed)

    def put(
        self,
        partition: int,
        items: Sequence[tuple[bytes, bytes | None]],
        offset: int,
        at_ms: int,
        *,
        goes_on: bool = False,
    ) -> None:
        """Write ``items``; the database is up to their ``offset`` only if it has all that stands before.

        ``goes_on`` where they are a further batch of the same transaction: no marker stands before them.

        Where it has not, another worker has written to the changelog since: this worker was taken for dead,
        or another one was and is not. The next restore reads from where the database is complete.
        """
        store = self.stores[partition]
        before = store.offset()
        # What was restored has the markers in it, what was written since has not. A fence keeps out who has
        # transactions as well, and no other worker.
        up_to = (-1 if before is None else before) + (partition in self._marked and not goes_on)
        complete = offset - len(items) == up_to
        store.write(items, offset if complete else None, at_ms)
        if complete and self.transactional:
            self._marked.add(partition)
        elif not complete and partition not in self._incomplete:
            self._incomplete.add(partition)
            log.warning(
                "Another worker has written to %s[%s] since offset %s. The local state is checked from there "
                "on when the partition is assigned again.",
                self.changelog_topic_name,
                partition,
                before,
            )

    def sources(self, partition: int) -> Ids:
        """Return the topics that a partition's state was built from, as far as they are known."""
        return decode_sources(self.stores[partition].get(SOURCES_KEY))

    def forget(self) -> None:
        """Drop what was read from the databases; it is read again when needed."""
        self._incomplete.clear()
        self._marked.clear()
        self._decoded.clear()

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Forget what was decoded, and release the databases of partitions that went away."""
        self.forget()
        for tp in revoked:
            if tp.topic == self.changelog_topic_name:
                self.stores.close(tp.partition)
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)

    async def on_recovery_completed(self, active_tps: set[TP], standby_tps: set[TP]) -> None:
        """Forget what was decoded before the restore wrote underneath."""
        self.forget()
        await super().on_recovery_completed(active_tps, standby_tps)


class _Settings:
    """The settings of one partition by offset, and from where on no other worker published anything."""

    __slots__ = ("ledger", "unseen")

    def __init__(self, ledger: SettingsLedger) -> None:
        self.ledger = ledger
        self.unseen: int | None = None


class SessionTable(StateTable[Session]):
    """Sessions by id, partitioned like `decision-logs`, each partition with its settings by offset.

    Args:
        app: The Faust app that the table belongs to.
        source: The topic whose records change the sessions.
        checkpoint_s: How long a changed session stays unwritten, about; 0 writes it with its run.
        kwargs: Further arguments that `StateTable` and `faust.Table` take.
    """

    def __init__(self, app: AppT, *, source: str, checkpoint_s: float, **kwargs: Any) -> None:
        super().__init__(app, form=SESSION_FORMAT, **kwargs)
        self._source = source
        self._checkpoint_s = checkpoint_s
        self._unsaved: dict[int, Unsaved[Session]] = {}
        self._settings: dict[int, _Settings] = {}
        self._stubs: dict[int, Stubs] | None = None

    def _settings_of(self, partition: int) -> _Settings:
        found = self._settings.get(partition)
        if found is None:
            ledger = SettingsLedger.decode(self.stores[partition].get(SETTINGS_KEY))
            found = self._settings[partition] = _Settings(ledger)
        return found

    def ledger(self, partition: int) -> SettingsLedger:
        """Return the partition's settings by offset."""
        return self._settings_of(partition).ledger

    def sources(self, partition: int) -> Ids:
        """Return the topic that a partition's state was built from, as far as it is known."""
        return {self._source: self.ledger(partition).source}

    def unseen(self, partition: int, end: int | None) -> int:
        """Return the offset from which on no earlier owner of the partition can have put anything out.

        That is what the ledger had reserved when the partition was assigned, or the ``end`` of the
        partition at its first run, where that comes first.
        """
        state = self._settings_of(partition)
        if state.unseen is None:
            reserved = state.ledger.reserved
            state.unseen = reserved if end is None else min(reserved, end)
        return state.unseen

    def note_stubs(self) -> None:
        """Take note of the stubs that epochs write from now on."""
        self._stubs = {}

    def stubs(self, partition: int) -> Stubs:
        """Return the stubs of a partition that were noted; who removes one takes it out."""
        assert self._stubs is not None, "no caller asked to record them"
        return self._stubs.setdefault(partition, Stubs())

    def unsaved(self, partition: int) -> Unsaved[Session]:
        """Return the partition's sessions that are changed and not written."""
        found = self._unsaved.get(partition)
        if found is None:
            mark = CheckpointMark.decode(self.stores[partition].get(MARK_KEY))
            found = Unsaved(mark, self.form.order, self._checkpoint_s)
            self._unsaved[partition] = found
        return found

    def begins_at(self, partition: int) -> int | None:
        """Return the offset from which the source of a partition has to be read again; None for none."""
        return self.unsaved(partition).since

    def unsaved_partitions(self) -> list[int]:
        """Return the partitions of which something may wait."""
        return list(self._unsaved)

    def drop_read(self, partition: int, names: Iterable[str]) -> None:
        """Drop what is in memory of sessions that were written outside of a run: it is read again."""
        decoded = self._decoded.setdefault(partition, Generations())
        for name in names:
            decoded.young.pop(name, None)
            decoded.old.pop(name, None)

    def take(self, run: Run, view: StateView[Session], mark: CheckpointMark | None, now: float) -> None:
        """Make what an epoch has changed the sessions of its partition.

        Args:
            run: The records that were processed.
            view: The state that the epoch saw, with its changes.
            mark: Says that they are not written; None where they are.
            now: Seconds, by a monotonic clock.
        """
        if mark is not None:
            unsaved = self.unsaved(run.partition)
            unsaved.take(view.changed, run, now)
            unsaved.mark = mark
        self._decoded.setdefault(run.partition, Generations()).young.update(view.changed)

    def _waiting(self, partition: int, name: str) -> Session | None:
        return self.unsaved(partition).get(name)

    def _written(
        self, partition: int, view: StateView[Session], _decoded: Generations[Session], at_ms: int
    ) -> None:
        """Take note of the sessions that ended. What is in memory may be newer than what was written."""
        if self._stubs is None:
            return
        stubs = self.stubs(partition)
        ended = [Stub(each.offset, at_ms, name) for name, each in view.changed.items() if each.ended]
        stubs.add(sorted(ended))

    def find(self, session_id: str) -> tuple[int, Session] | None:
        """Return the partition that has a session, and its state after its last epoch; None when none has."""
        try:
            key = session_key(session_id)
        except UnicodeEncodeError:  # half a surrogate pair: no record can have such an id
            return None
        for partition, store in self.stores.opened().items():
            waiting = self.unsaved(partition).get(session_id)
            if waiting is not None:
                return partition, waiting
            stored = store.get(key)
            if stored is not None:
                return partition, decode_session(stored)
        return None

    def settings_for(self, partition: int, published: DetectionSettings) -> DetectionSettings:
        """Return the settings that the next record of a partition would be judged under."""
        kept = self.ledger(partition).newest.settings
        return published if follows(published.version, kept.version) else kept

    def settings_versions(self) -> dict[int, int]:
        """Return the version of the newest settings of each partition in use."""
        return {number: state.ledger.newest.settings.version for number, state in self._settings.items()}

    def shadow_versions(self) -> dict[int, int]:
        """Return the version of what is tried out on each partition in use, 0 where nothing is."""
        tried = {number: state.ledger.newest_shadow.settings for number, state in self._settings.items()}
        return {number: 0 if settings is None else settings.version for number, settings in tried.items()}

    def adopt(self, partition: int, ledger: SettingsLedger) -> None:
        """Make ``ledger`` the partition's settings; it is stored already."""
        self._settings_of(partition).ledger = ledger

    def forget(self) -> None:
        """Drop what was read or waits, the settings, and the stubs: a search finds them."""
        super().forget()
        self._settings.clear()
        self._unsaved.clear()
        if self._stubs is not None:
            self._stubs.clear()
