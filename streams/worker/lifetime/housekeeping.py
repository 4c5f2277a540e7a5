"""Housekeeping: what nothing can need any more leaves the state (specification 2.5, 2.6).

    stubs       of sessions that ended, once the commit has passed them: from a list that epochs make, so that
                a burst of short sessions costs no search
    sessions    untouched for `session_ttl_ms` + `state_grace_ms`: from a search of the partition's
                database, a slice at a time, round after round

A removal is an epoch of its own, in the lane of its partition between two runs: what is told, then the
tombstones, then the database, like every other effect. A crash in between repeats it with the same ids and
bytes.

A session must not go while a record of it may wait in the partition. So it has to be due at a time of which
is known that all the partition held then is processed: as if it had been removed then, without any lag.

What sessions contribute when they are removed counts in the order of their offsets, see `expiry_source`. So
those that contribute are kept back until a round has seen all others, and go from the smallest offset to the
first that stays.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Any, Protocol

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.session import DamagedSessionError, Session
from streams.core.errors import DamagedStateError, ProducerFencedError
from streams.core.policy.state_limits import keeps_ms
from streams.kafka.clock import ClusterClock
from streams.worker.batch import Job
from streams.worker.effects import BatchOutput, Effects
from streams.worker.epoch import InForce
from streams.worker.lifetime.due import NEVER, Due, Next, SearchPass, Stub, due_of, readable
from streams.worker.run_result import RunResult
from streams.worker.state.changelog import CLOCK_KEY, is_stub, session_id_of, session_key, session_source
from streams.worker.state.table import SessionTable, StateView

log = logging.getLogger(__name__)


class RemovalReason(StrEnum):
    """Why a session was removed."""

    EXPIRED = "expired"
    ENDED = "ended"


class Removal:
    """An epoch of removals in the making."""

    __slots__ = ("folded", "reason", "view")

    def __init__(self, reason: RemovalReason) -> None:
        self.reason = reason
        self.view: StateView[Session] = StateView({})
        self.folded = RunResult()

    def expire(self, name: str, due: Due, job: Job) -> None:
        """Remove a session that is due, and tell what follows from that.

        One whose state holds what cannot be told stays.
        """
        try:
            job.expired(name, due.expired, due.until_ms, self.folded)
        except DamagedSessionError as error:
            log.warning("The state of session %r stays, however old it is: %s", name, error)
            return
        self.view.remove(due.session, name)


#: Entries that a slice looks at and sessions that are closed there, at most: to close one takes 150 µs, and
#: nothing else happens meanwhile. Between two slices other lanes go on.
SLICE, CLOSED_AT_ONCE = 1_000, 100

#: Slices of an epoch, and what it removes, at most: about what a run takes. It may have to wait for one.
SLICES_AT_ONCE, REMOVED_AT_ONCE, STUBS_AT_ONCE = 5, 500, 2_000

#: The share of the time that searching may take, and the time that it may save up while idle.
SHARE, _MOST_SAVED_S = 0.005, 0.02

#: What a session that goes adds to that: looking at ten others, less than half of what closing it takes. So
#: the search keeps up with a flood, and takes its share where little is due.
_ADDED_S = 60e-6

_EPOCHS_PER_TICK = 4


class PartitionOwner(Protocol):
    """What housekeeping has to know of the worker."""

    def in_charge(self) -> tuple[int, Collection[int]]:
        """Return the generation of the assignment, and the partitions whose state may be changed now."""

    def read_up_to(self, partition: int) -> int:
        """Return a time, ms: all that the partition held then is processed by now. 0 when none is known."""

    def heard_ms(self, partition: int) -> int:
        """Return when a broker answered about the partition last, ms; 0 when none has."""

    def passed(self, partition: int) -> int:
        """Return the offset below which no record is read again; -1 when that is not known."""

    def alone(self, partition: int) -> AbstractAsyncContextManager[None]:
        """Keep the partition's runs waiting for as long as the block lasts."""


class HousekeepingMetrics(Protocol):
    """What housekeeping reports."""

    def searched(self, entries: int, seconds: float) -> None:
        """Take note of how many entries were looked at, and the CPU time of that."""

    def removed(
        self, reason: str, sessions: int, events: Mapping[str, int], episodes: Iterable[Mapping[str, Any]]
    ) -> None:
        """Take note of sessions that were removed, of events by type, and of episodes that ended."""


class Housekeeping:
    """Removes sessions of the partitions this worker has.

    Args:
        job: Says what a removal tells.
        table: The table that sessions are removed from.
        effects: The effects of the epochs of the sessions.
        settings: In force for new records; those of a partition count where they are newer.
        worker: The worker whose partitions they are.
        metrics: Told what was done.
        interval_ms: Between the end of a search of a partition and the next one, at least.
        rest_ms: A stub stays so long in any case: what a worker that was taken for dead writes while it is
            there does not bring the session back.
        clock: The time by which state goes. Nothing is removed before a broker was asked for its own.
    """

    def __init__(
        self,
        *,
        job: Job,
        table: SessionTable,
        effects: Effects[Session],
        settings: InForce,
        worker: PartitionOwner,
        metrics: HousekeepingMetrics,
        interval_ms: int,
        rest_ms: int,
        clock: ClusterClock,
    ) -> None:
        self._job = job
        self._table = table
        self._effects = effects
        self._settings = settings
        self._worker = worker
        self._metrics = metrics
        self._interval_ms = interval_ms
        self._rest_ms = rest_ms
        self._clock = clock
        self._now_ms = clock.now_ms
        self._generation = -1
        self._rounds: dict[int, SearchPass] = {}
        self._next: dict[int, Next] = {}
        self._saved_s = 0.0
        table.note_stubs()

    async def tick(self, elapsed_s: float) -> None:
        """Remove the stubs that are due, and search on as far as ``elapsed_s`` since the last tick allow.

        Raises:
            InfrastructureError: the broker or the disk failed.
            DamagedStateError: a database is damaged.
            ProducerFencedError: another worker owns the partition.
        """
        generation, partitions = self._worker.in_charge()
        if generation != self._generation:
            self._generation = generation
            self._rounds.clear()
            self._next.clear()
        self._save(elapsed_s * SHARE)
        if partitions and not self._clock.asked:
            await self._ask_for_the_time(min(partitions))
            return
        # Who has waited longest comes first, or the last would wait for ever.
        in_turn = sorted(partitions, key=lambda each: (self._next.get(each, Next()).at_ms, each))
        await of_each(in_turn, self._keep)

    async def _keep(self, partition: int) -> None:
        await self._remove_stubs(partition)
        for _ in range(_EPOCHS_PER_TICK):
            if self._saved_s <= 0 or not self._search_is_due(partition):
                break
            async with self._worker.alone(partition):
                if self._is_in_charge(partition):
                    await self._search(partition)

    async def _ask_for_the_time(self, partition: int) -> None:
        """Write a tombstone of nothing: the answer reports the brokers' time if no run has asked before."""
        async with self._worker.alone(partition):
            if self._is_in_charge(partition) and not self._clock.asked:
                await self._effects.carry_out(
                    BatchOutput(partition, StateView({}), settings=[(CLOCK_KEY, None)])
                )

    # -- stubs --------------------------------------------------------------------------------------------

    async def _remove_stubs(self, partition: int) -> None:
        """Remove what epochs have taken note of, oldest first."""
        stubs = self._table.stubs(partition)
        if stubs.lost:
            stubs.lost = False
            self._next.pop(partition, None)
        waiting = stubs.waiting
        while waiting and self._stub_may_go(waiting[0], partition):
            async with self._worker.alone(partition):
                if not self._is_in_charge(partition):
                    return
                names: dict[str, int] = {}
                while len(names) < STUBS_AT_ONCE and waiting and self._stub_may_go(waiting[0], partition):
                    stub = waiting.popleft()
                    names[stub.session_id] = stub.offset
                found = self._table.stores[partition].get_many([session_key(name) for name in names])
                removal = Removal(RemovalReason.ENDED)
                unsaved = self._table.unsaved(partition)
                for (name, offset), value in zip(names.items(), found, strict=True):
                    session = None if name in unsaved else readable(name, value)
                    # Else it has begun again since, and maybe ended again.
                    if session is not None and session.ended and session.offset == offset:
                        removal.view.remove(session, name)
                await self._carry_out(partition, removal)

    def _stub_may_go(self, stub: Stub, partition: int) -> bool:
        return stub.offset < self._worker.passed(partition) and stub.at_ms + self._rest_ms <= self._now_ms()

    # -- sessions -----------------------------------------------------------------------------------------

    def _search_is_due(self, partition: int) -> bool:
        if partition in self._rounds:
            return True
        at_ms, keeps = self._next.get(partition, Next())
        return at_ms <= self._now_ms() or keeps != keeps_ms(self._in_force(partition))

    async def _search(self, partition: int) -> None:
        """Look at some slices of a partition, and remove what is due there."""
        search = self._rounds.setdefault(
            partition,
            SearchPass(self._now_ms(), notes_stubs=partition not in self._next, most=CLOSED_AT_ONCE),
        )
        settings = self._in_force(partition)
        removals = Removal(RemovalReason.ENDED), Removal(RemovalReason.EXPIRED)
        at_end = self._look_at_slice(partition, search, settings, removals)
        for _ in range(1, SLICES_AT_ONCE):
            if at_end or self._saved_s <= 0 or _removed(removals) >= REMOVED_AT_ONCE:
                break
            await asyncio.sleep(0)
            at_end = self._look_at_slice(partition, search, settings, removals)
        for removal in removals:
            await self._carry_out(partition, removal)
        if at_end:
            await self._end_round(partition, search, settings)

    def _look_at_slice(
        self,
        partition: int,
        search: SearchPass,
        settings: DetectionSettings,
        removals: tuple[Removal, Removal],
    ) -> bool:
        """Look at one slice; tell whether it was the last of the round."""
        started, before = time.thread_time(), _removed(removals)
        found = self._table.stores[partition].scan(search.after, SLICE)
        looked_at = self._sort_out(partition, search, found, settings, removals)
        if found:
            search.after = found[looked_at - 1][0]
        seconds = time.thread_time() - started
        removed = _removed(removals) - before
        # What there is to remove does not wait until the share is saved up.
        self._save(removed * _ADDED_S - seconds * (1 - removed / max(1, looked_at)))
        self._metrics.searched(looked_at, seconds)
        return looked_at == len(found) < SLICE

    def _save(self, seconds: float) -> None:
        self._saved_s = min(self._saved_s + seconds, _MOST_SAVED_S)

    def _sort_out(
        self,
        partition: int,
        search: SearchPass,
        found: list[tuple[bytes, int, bytes]],
        settings: DetectionSettings,
        removals: tuple[Removal, Removal],
    ) -> int:
        """Sort entries into those that stay and those that go; return how many were looked at."""
        now_ms = min(self._now_ms(), self._worker.read_up_to(partition))
        ended, expired = removals
        unsaved = self._table.unsaved(partition)
        most = _removed(removals) + CLOSED_AT_ONCE
        for number, (key, touched_ms, value) in enumerate(found, 1):
            name = session_id_of(key)
            if name is None:
                continue
            if (newer := unsaved.get(name)) is not None:  # written soon, and then kept anew
                search.stays(NEVER - 1, newer.offset)
            elif is_stub(value):
                self._look_at_stub(partition, search, name, (touched_ms, value), ended)
            elif (keeps := keeps_ms(settings)) is not None:
                until = touched_ms + keeps
                source = session_source(key, value)
                offset = -1 if source is None else source[1]
                if until >= now_ms or offset >= self._worker.passed(partition):
                    search.stays(until, offset)
                else:
                    self._look_at(search, name, due_of(name, (touched_ms, value), settings, now_ms), expired)
            if _removed(removals) >= most:
                return number
        return len(found)

    def _look_at_stub(
        self, partition: int, search: SearchPass, name: str, entry: tuple[int, bytes], ended: Removal
    ) -> None:
        """Remove a stub that may go, or take note of it."""
        touched_ms, value = entry
        stub = readable(name, value)
        if stub is None:
            return
        noted = Stub(stub.offset, touched_ms, name)
        if self._stub_may_go(noted, partition):
            ended.view.remove(stub, name)
        elif search.notes_stubs:
            self._table.stubs(partition).add([noted])

    def _look_at(
        self,
        search: SearchPass,
        name: str,
        due: Due | tuple[int, int] | None,
        expired: Removal,
    ) -> None:
        """Remove a session that was not touched for long enough, unless it contributes."""
        if isinstance(due, Due):
            if due.expired.contributions:
                search.keep_back(due.session.offset, name)
            else:
                expired.expire(name, due, self._job)
        elif due is not None:
            search.stays(*due)

    async def _end_round(self, partition: int, search: SearchPass, settings: DetectionSettings) -> None:
        """Remove those that contribute, in the order of their offsets, and say when to search again."""
        names = search.ready()
        if len(names) < len(search.contributing):
            search.next_ms = 0
        if names:
            passed = self._worker.passed(partition)
            now_ms = min(self._now_ms(), self._worker.read_up_to(partition))
            removal = Removal(RemovalReason.EXPIRED)
            found = self._table.stores[partition].entries([session_key(name) for name in names])
            noted = {name: -negated for negated, name in search.contributing}
            unsaved = self._table.unsaved(partition)
            for name, entry in zip(names, found, strict=True):
                # It may have changed since it was looked at.
                due = (
                    None
                    if entry is None or name in unsaved or is_stub(entry[1])
                    else due_of(name, entry, settings, now_ms)
                )
                match due:
                    case Due() if due.session.offset < passed:
                        removal.expire(name, due, self._job)
                    case (until, offset) if offset <= noted[name]:
                        # After all: the clock was set back, or the settings are others.
                        search.stays(until, offset)
                        break
            await self._carry_out(partition, removal)
        self._rounds.pop(partition, None)
        keeps = keeps_ms(settings)
        if keeps is not None:
            search.stays(search.began_ms + keeps, NEVER)
        self._next[partition] = Next(max(search.next_ms, self._now_ms() + self._interval_ms), keeps)

    # -- both ---------------------------------------------------------------------------------------------

    async def _carry_out(self, partition: int, removal: Removal) -> None:
        if removal.view.removed:
            await self._effects.carry_out(BatchOutput(partition, removal.view, removal.folded.outputs))
            folded = removal.folded
            self._metrics.removed(removal.reason, len(removal.view.removed), folded.events, folded.episodes)

    def _is_in_charge(self, partition: int) -> bool:
        """Ask again: a rebalance may have begun while housekeeping waited for the lane."""
        generation, partitions = self._worker.in_charge()
        return generation == self._generation and partition in partitions

    def _in_force(self, partition: int) -> DetectionSettings:
        return self._table.settings_for(partition, self._settings.in_force)


async def of_each(partitions: Iterable[int], act: Callable[[int], Awaitable[None]]) -> None:
    """Act on all partitions at once: each waits for a run of its own lane.

    Raises:
        BaseException: the gravest that was raised. A partition lost or damaged is no failure of the worker,
            another failure beside it is.
    """
    outcomes = await asyncio.gather(*map(act, partitions), return_exceptions=True)
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if failures:
        raise min(failures, key=_mildness)


def _mildness(failure: BaseException) -> int:
    """Order failures: what stops the worker first, then a damaged database, then a partition lost."""
    return isinstance(failure, DamagedStateError) + 2 * isinstance(failure, ProducerFencedError)


def _removed(removals: tuple[Removal, Removal]) -> int:
    return sum(len(removal.view.removed) for removal in removals)
