"""Tells which sessions owe a step and are silent for too long (specification 7.7).

No record comes, so the clock decides: that of the brokers, and only as far as all that the partition held
then is processed. Whatever is told follows from the last record, so it is told again with the same id and
bytes where a crash lies between the alert and the session that remembers it. Each partition is told in an
epoch of its own, in its lane between two runs, as housekeeping removes sessions.

Sessions are found by a search of the database, a slice at a time, again and again. Only those are held whose
time may come before the next search, so memory does not follow the number of sessions.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.session import DamagedSessionError, Session
from streams.core.pipeline import Expired, fall_silent, silence_limit
from streams.kafka.clock import ClusterClock
from streams.worker.batch import Job
from streams.worker.effects import BatchOutput, Effects
from streams.worker.epoch import InForce
from streams.worker.faust.job_app import JobApp
from streams.worker.lifetime.due import readable
from streams.worker.lifetime.housekeeper import PeriodicRounds
from streams.worker.lifetime.housekeeping import SLICE, PartitionOwner, of_each
from streams.worker.run_result import RunResult
from streams.worker.state.changelog import session_id_of, session_key
from streams.worker.state.table import SessionTable, StateView

log = logging.getLogger(__name__)

_TICK_S: Final = 1.0

#: The share of the time that a search may take, and the time that it may save up.
_SHARE: Final = 0.02
_MOST_SAVED_S: Final = 0.05

#: Searches in the shortest time after which a session can be silent, and the ms between two at least.
_SEARCHES: Final = 4
_LEAST_MS: Final = 1_000

#: Sessions of a partition that are looked at in one epoch, at most.
_TOGETHER: Final = 500

#: If a worker has heard no broker for so long, records may be late for a reason of their own.
_DEAF_MS: Final = 60_000

#: A stored session that owes a step and was not told to be silent. What agents wrote has its quotes escaped.
OWED: Final = re.compile(rb'"pace":\["[A-Za-z0-9_-]*",true,(?:true|false),0\]')


@dataclass(slots=True)
class _Watched:
    """What is known of one partition.

    Attributes:
        limits: the settings that it goes by.
        due: when a session may be silent at the earliest, and its id; a heap.
        names: the ids that are in it.
        after: the last key that the search has seen; None while none goes on.
        next_ms: when the next search begins.
        until_ms: sessions that are due later are left to it.
        searched: whether a search has seen all.
        newest_ms: when one of its sessions was written last, as far as is known.
    """

    limits: tuple[int, int, bool]
    due: list[tuple[int, str]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    after: bytes | None = None
    next_ms: int = 0
    until_ms: int = 0
    searched: bool = False
    newest_ms: int = 0

    def begin(self, now_ms: int) -> None:
        """Begin a search if it is time for one."""
        if self.after is None and now_ms >= self.next_ms and self.limits[0]:
            every_ms = max(_LEAST_MS, self.limits[0] // _SEARCHES)
            self.after, self.next_ms, self.until_ms = b"", now_ms + every_ms, now_ms + 2 * every_ms

    def add(self, name: str, due_ms: int) -> None:
        """Look at a session then, unless a later search can find it in time."""
        if due_ms <= self.until_ms and name not in self.names:
            self.names.add(name)
            heappush(self.due, (due_ms, name))

    def due_by(self, now_ms: int) -> list[str]:
        """Take out the sessions to be looked at now."""
        names: list[str] = []
        while self.due and self.due[0][0] <= now_ms and len(names) < _TOGETHER:
            names.append(heappop(self.due)[1])
        self.names.difference_update(names)
        return names


@dataclass(slots=True)
class _Hearing:
    """What a worker has heard of a partition, under whatever settings and in whichever generation.

    Attributes:
        heard_ms: when a broker answered last.
        since_ms: silence counts from here on at the earliest.
    """

    heard_ms: int = 0
    since_ms: int = 0


class SilentSessions:
    """Tells the silent sessions of the partitions this worker has.

    Args:
        job: Says what is told.
        table: The table of the sessions.
        effects: The effects of the epochs of the sessions.
        settings: In force for new records; those of a partition count where they are newer.
        worker: The worker whose partitions they are.
        clock: The time by which sessions are silent. Nobody is before a broker was asked for its own.
        on_told: Told how many events there were, by type.
    """

    def __init__(
        self,
        *,
        job: Job,
        table: SessionTable,
        effects: Effects[Session],
        settings: InForce,
        worker: PartitionOwner,
        clock: ClusterClock,
        on_told: Callable[[Mapping[str, int]], None],
    ) -> None:
        self._job = job
        self._table = table
        self._effects = effects
        self._settings = settings
        self._worker = worker
        self._clock = clock
        self._on_told = on_told
        self._generation = -1
        #: What is known of the sessions of each partition.
        self.watched: dict[int, _Watched] = {}
        self._hearing: dict[int, _Hearing] = {}
        self._saved_s = 0.0

    async def tick(self, elapsed_s: float) -> None:
        """Search on as far as ``elapsed_s`` since the last tick allow, and tell who is silent.

        Raises:
            InfrastructureError: the broker or the disk failed.
            DamagedStateError: a database is damaged.
            ProducerFencedError: another worker owns the partition.
        """
        generation, partitions = self._worker.in_charge()
        if generation != self._generation:
            self._generation = generation
            self.watched.clear()
        if not self._clock.asked:
            return
        self._saved_s = min(self._saved_s + elapsed_s * _SHARE, _MOST_SAVED_S)
        for partition in partitions:
            self._search(partition)
        await of_each(partitions, self._tell)

    def _watched(self, partition: int) -> _Watched:
        settings = self._in_force(partition)
        limits = settings.silence_ms, settings.silence_habit, settings.silence_attended
        known = self.watched.get(partition)
        if known is None or known.limits != limits:
            known = self.watched[partition] = _Watched(limits)
        return known

    def _search(self, partition: int) -> None:
        """Find the sessions whose time may come soon."""
        watched = self._watched(partition)
        watched.begin(self._clock.now_ms())
        while watched.after is not None and self._saved_s > 0:
            started = time.thread_time()
            found = self._table.stores[partition].scan(watched.after, SLICE)
            for key, touched_ms, value in found:
                watched.newest_ms = max(watched.newest_ms, touched_ms)
                due_ms = touched_ms + watched.limits[0]
                if due_ms <= watched.until_ms and OWED.search(value):
                    name = session_id_of(key)
                    if name is not None:
                        watched.add(name, due_ms)
            at_end = len(found) < SLICE
            watched.after = None if at_end else found[-1][0]
            watched.searched |= at_end
            self._saved_s -= time.thread_time() - started

    async def _tell(self, partition: int) -> None:
        watched = self._watched(partition)
        if not watched.searched:
            return  # who was heard last is known at the end of a search
        now_ms = min(self._clock.now_ms(), self._worker.read_up_to(partition))
        since_ms = self._counts_from(partition, watched)
        names = watched.due_by(now_ms)
        if not names:
            return
        done = False
        try:
            async with self._worker.alone(partition):
                generation, partitions = self._worker.in_charge()
                if generation == self._generation and partition in partitions:
                    silent, folded = self._silent(partition, watched, names, now_ms, since_ms)
                    if silent:
                        view = StateView({}, silent)
                        await self._effects.carry_out(BatchOutput(partition, view, folded.outputs))
                        self._table.drop_read(partition, silent)
                        self._on_told(folded.events)
                    done = True
        finally:
            if not done:
                for name in names:
                    watched.add(name, now_ms)

    def _counts_from(self, partition: int, watched: _Watched) -> int:
        """Return from when on silence counts: producers may have been cut off with this worker."""
        heard_ms = self._worker.heard_ms(partition)
        hearing = self._hearing.get(partition)
        if hearing is None:
            # Nobody has written of late, so whoever had the partition may have been cut off, too.
            quiet = heard_ms - watched.newest_ms > _DEAF_MS
            hearing = self._hearing[partition] = _Hearing(heard_ms, heard_ms if quiet else 0)
        elif heard_ms - hearing.heard_ms > _DEAF_MS:
            hearing.since_ms = heard_ms
        hearing.heard_ms = max(heard_ms, hearing.heard_ms)
        return hearing.since_ms

    def _silent(
        self, partition: int, watched: _Watched, names: list[str], now_ms: int, since_ms: int
    ) -> tuple[dict[str, Session], RunResult]:
        """Return those of the sessions that are silent, as they are from now on, and what is told of them."""
        settings = self._in_force(partition)
        unsaved = self._table.unsaved(partition)
        silent: dict[str, Session] = {}
        folded = RunResult()
        found = self._table.stores[partition].entries([session_key(name) for name in names])
        for name, entry in zip(names, found, strict=True):
            if name in unsaved:  # it has spoken just now
                continue
            session = None if entry is None else readable(name, entry[1])
            limit = None if session is None else _limit(name, session, settings)
            if entry is None or session is None or limit is None:
                continue
            due_ms = max(entry[0], since_ms) + limit
            if due_ms > now_ms:
                watched.add(name, due_ms)
                continue
            after, event = fall_silent(name, session, limit, settings)
            try:
                self._job.expired(name, Expired((event,)), entry[0] + limit, folded)
            except DamagedSessionError as error:
                log.warning("That session %r is silent cannot be told: %s", name, error)
                continue
            silent[name] = after
        return silent, folded

    def _in_force(self, partition: int) -> DetectionSettings:
        return self._table.settings_for(partition, self._settings.in_force)


def _limit(name: str, session: Session, settings: DetectionSettings) -> int | None:
    """Return the limit of a session; None of one that cannot be read: it shows with its next record."""
    try:
        return silence_limit(name, session, settings)
    except DamagedSessionError as error:
        log.warning("Whether session %r is silent is not known: %s", name, error)
        return None


class SilenceRounds(PeriodicRounds):
    """Looks for silent sessions every second.

    Args:
        app: The Faust app that an error stops.
        late_s: As `PeriodicRounds` takes it.
    """

    def __init__(self, app: JobApp, *, late_s: float) -> None:
        super().__init__(app, tick_s=_TICK_S, late_s=late_s)
        #: Made when the worker starts.
        self.watch: SilentSessions | None = None

    async def tick(self, elapsed_s: float) -> None:
        """Look at what is due."""
        if self.watch is not None:
            await self.watch.tick(elapsed_s)
