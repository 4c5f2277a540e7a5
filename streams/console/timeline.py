"""The steps of a session, read from where they stand on the topic of enriched records.

The index knows the places of a session, so that a few seeks read it. Where there is no index, the partition
that the session's key belongs to is searched, and the places are remembered.

Whatever may write to the topic can write other values there, and a newer version other kinds of events.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

from schemas.codec import Codec, UndecodableError
from schemas.encoder import UnencodableError, bundled_encoder
from streams.console.archive.archive import Archive
from streams.console.board import Steps
from streams.console.read_model.memory import Memory
from streams.console.read_model.offsets import Places
from streams.console.read_model.place import offset_of, partition_of
from streams.console.read_model.rows import SessionRow
from streams.console.read_model.session import KEPT_PLACES, enriched_place
from streams.console.read_model.tables import SESSION
from streams.console.session_facts import explanation
from streams.console.step_diff.comparison import evidence
from streams.console.step_diff.step_list import lens
from streams.console.view import RecordStep
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.decision import Decision
from streams.core.domain.record import Record
from streams.core.domain.text.printable import printable
from streams.core.domain.topic import Topic
from streams.core.errors import EddyError, InfrastructureError
from streams.core.pipeline import admit
from streams.kafka.client import Brokers, Stored
from streams.kafka.reading import OffsetRun, runs

#: What reading a value raises that is not what the schema promises.
MISFITS: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, EddyError)

_ENCODER: Final = bundled_encoder(f"{Topic.ENRICHED}-value")


def misfit(step: RecordStep) -> str | None:
    """Return why a step cannot be shown, None if it can."""
    try:
        _ENCODER.encode(step.record)
        if not isinstance(_admitted(step), Decision):
            return "its decision log is none that is accepted"
        lens((step,), folded=False).content()
        evidence(explanation(step.record["session_id"], (step,)))
    except UnencodableError as error:
        return str(error)
    except MISFITS as error:
        return f"{type(error).__name__} while it is shown"
    return None


def _admitted(step: RecordStep) -> object:
    known: Mapping[str, Any] = {name: value for name, value in step.record.items() if name != "eddy"}
    record = Record(step.partition, step.offset, known["session_id"], None, dict(known))
    return admit(record, DEFAULTS)


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ByteCache(Generic[K, V]):
    """Forgets what was not used for longest once it holds more than it may.

    >>> cache = ByteCache[str, bytes](10, len)
    >>> cache.put("a", b"12345"), cache.put("b", b"12345"), cache.get("a"), cache.put("c", b"1")
    (None, None, b'12345', None)
    >>> cache.get("b"), cache.size
    (None, 6)
    """

    def __init__(self, limit: int, size_of: Callable[[V], int]) -> None:
        self._limit = limit
        self._size_of = size_of
        self._values: OrderedDict[K, V] = OrderedDict()
        #: Bytes of all values.
        self.size = 0

    def get(self, key: K) -> V | None:
        """Return a value, None if it is not held."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Hold a value; one that is larger than all that may be held is not."""
        if (known := self._values.pop(key, None)) is not None:
            self.size -= self._size_of(known)
        size = self._size_of(value)
        if size > self._limit:
            return
        self._values[key] = value
        self.size += size
        while self.size > self._limit:
            _, oldest = self._values.popitem(last=False)
            self.size -= self._size_of(oldest)

    def __len__(self) -> int:
        return len(self._values)


log = logging.getLogger(__name__)

#: Places closer than so many records are read together.
_CLOSE: Final = 200
_AT_ONCE: Final = 4
_HELD_BYTES: Final = 32 << 20
#: What a decoded record takes of memory, for each byte of its value.
_DECODED: Final = 6
_PATIENCE_SECONDS: Final = 20.0
#: What a record may be older, by Kafka's time, than the first one that was told of.
_MARGIN_MS: Final = 60_000
_REMEMBERED_SESSIONS: Final = 256
_PROGRESS_EVERY: Final = 1_000
_BREATHE_EVERY: Final = 16

_LOST: Final = "retention.ms of {}"


class ReadProgress(NamedTuple):
    """How far steps are read: records of a partition while it is searched, else stretches of the topic."""

    partition: int
    read: int
    of: int


def silent(progress: ReadProgress) -> None:
    """Tell nobody."""


class _Decoded(NamedTuple):
    """A record as a step, None if it cannot be shown, and the bytes that it is counted as."""

    size: int
    step: RecordStep | None


class KnownSession(NamedTuple):
    """What is known of a session before it is read: places of its enriched records, its times, its number."""

    places: Sequence[tuple[int, int]]
    first_ts: int | None
    last_ts: int | None
    records: int


@dataclass(slots=True)
class _Found:
    """What a search found so far: places, and from which offset on it reads each partition next."""

    places: list[tuple[int, int]] = field(default_factory=list)
    next: dict[int, int] | None = None
    searching: asyncio.Lock = field(default_factory=asyncio.Lock)


class StepReader:
    """Reads steps.

    Args:
        brokers: What to read from.
        codec: Reads the values of the records.
        model: Knows the places of sessions that live.
        archive: Knows those of others.
        searches: Whether a session without places is searched for.
        from_beginning: Whether it is searched for from offset 0, as on brokers that find no offset by time.
    """

    def __init__(
        self,
        brokers: Brokers,
        codec: Codec,
        model: Memory,
        archive: Archive,
        *,
        searches: bool = True,
        from_beginning: bool = False,
    ) -> None:
        self._brokers = brokers
        self._topic = brokers.topic(Topic.ENRICHED)
        self._decoder = codec.decoder(f"{Topic.ENRICHED}-value")
        self._model = model
        self._archive = archive
        self._searches = searches
        self._from_beginning = from_beginning
        self._held: ByteCache[tuple[int, int], Stored] = ByteCache(_HELD_BYTES, _size)
        self._steps: ByteCache[tuple[int, int], _Decoded] = ByteCache(_HELD_BYTES, lambda each: each.size)
        self._found: dict[str, _Found] = {}
        self._seats = asyncio.Semaphore(_AT_ONCE)

    async def steps(
        self,
        session_id: str,
        *,
        before: int | None = None,
        limit: int = 200,
        progress: Callable[[ReadProgress], None] = silent,
    ) -> Steps:
        """Return steps of a session, oldest first; cancel it if nobody waits any more.

        Args:
            session_id: Id of the session.
            before: Number of a step: those before it are returned. The newest if it is not given.
            limit: How many at most.
            progress: Told how far the reading is.

        Raises:
            InfrastructureError: the brokers do not answer.
        """
        known = await self._known(session_id)
        from_topic = known is None or not known.places
        if from_topic:
            if not self._searches:
                return Steps(())
            known = await self._search(session_id, known, progress)
        assert known is not None, "a search finds something or nothing"
        first = _before(known)
        end = len(known.places) if before is None else max(0, min(len(known.places), before - 1 - first))
        begin = max(0, end - limit)
        chosen = known.places[begin:end]
        stored = await self._read(session_id, chosen, progress)
        steps, unreadable = await self._decoded(chosen, stored, first + begin + 1)
        lost = self._lost_before(known, chosen, stored)
        return Steps(
            steps,
            lost_before=lost,
            why_lost="" if lost is None else _LOST.format(self._topic),
            earlier=begin > 0 and lost is None,
            gaps=len(chosen) - len(stored) + unreadable,
            from_topic=from_topic,
        )

    async def number_at(self, session_id: str, offset: int) -> int | None:
        """Return the number of the first step that is not before an offset of decision-logs, None if unknown.

        Few records are read: the places of a session stand in the order of its records.

        Raises:
            InfrastructureError: the brokers do not answer.
        """
        known = await self._known(session_id)
        if known is None or not known.places:
            return None
        low, high = 0, len(known.places) - 1
        while low < high:
            middle = (low + high) // 2
            chosen = known.places[middle : middle + 1]
            found, _ = await self._decoded(chosen, await self._read(session_id, chosen, silent), middle)
            # What is no longer held is older than what is.
            if found and found[0].offset >= offset:
                high = middle
            else:
                low = middle + 1
        return _before(known) + low + 1

    async def _known(self, session_id: str) -> KnownSession | None:
        case = self._model.cases.get(session_id)
        if case is not None:
            state = case.session
            return KnownSession(tuple(state.places), state.first_ts, state.last_ts, state.records)
        for row in await self._archive.select(SESSION, "WHERE session_id = ?", (session_id,)):
            if isinstance(row, SessionRow):
                places = tuple(Places.of(row.offsets, KEPT_PLACES))
                return KnownSession(places, row.first_ts, row.last_ts, row.records)
        return None

    async def _read(
        self, session_id: str, places: Sequence[tuple[int, int]], progress: Callable[[ReadProgress], None]
    ) -> dict[tuple[int, int], Stored]:
        """Return the records at these places that the topic still holds."""
        found = {place: stored for place in places if (stored := self._held.get(place)) is not None}
        missing = set(places) - found.keys()
        stretches = runs(missing, _CLOSE)
        read = 0

        def done(run: OffsetRun) -> None:
            nonlocal read
            read += 1
            progress(ReadProgress(run.partition, read, len(stretches)))

        key = session_id.encode("utf-8", "surrogateescape")
        if stretches:
            for stored in await self._patiently(stretches, lambda each: each.key == key, done):
                place = stored.partition, stored.offset
                self._held.put(place, stored)
                if place in missing:
                    found[place] = stored
        return found

    async def _patiently(
        self,
        stretches: Sequence[OffsetRun],
        keep: Callable[[Stored], bool],
        done: Callable[[OffsetRun], None],
    ) -> list[Stored]:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await self._brokers.read_runs(
                    self._topic, stretches, keep, seats=self._seats, done=done
                )
        except TimeoutError as error:
            raise InfrastructureError(
                f"The brokers did not return the steps within {_PATIENCE_SECONDS:.0f} s. Check that they "
                "run, and load the page again."
            ) from error

    async def _decoded(
        self,
        places: Sequence[tuple[int, int]],
        stored: dict[tuple[int, int], Stored],
        number: int,
    ) -> tuple[tuple[RecordStep, ...], int]:
        """Return the records as steps, and how many are none.

        Each is returned once: after a crash of the job one may stand there twice.
        """
        fresh = {place: each for place, each in stored.items() if self._steps.get(place) is None}
        await self._decoder.prepare([(each.value, each.headers) for each in fresh.values()])
        steps: dict[str, RecordStep] = {}
        unreadable = 0
        for count, (at, place) in enumerate(
            (at, place) for at, place in enumerate(places, number) if place in stored
        ):
            held = self._steps.get(place)
            if held is None:
                held = self._step(stored[place])
                self._steps.put(place, held)
                if not count % _BREATHE_EVERY:
                    await asyncio.sleep(0)
            if held.step is None:
                unreadable += 1
            else:
                steps.setdefault(held.step.record["eddy"]["id"], held.step._replace(number=at))
        return tuple(sorted(steps.values(), key=lambda step: (step.partition, step.offset))), unreadable

    def _step(self, stored: Stored) -> _Decoded:
        size = _DECODED * _size(stored)
        try:
            record = self._decoder.decode(stored.value, stored.headers)
            source = enriched_place(record)
        except (UndecodableError, KeyError, TypeError, ValueError, AttributeError) as error:
            return self._passed_over(stored, size, str(error))
        step = RecordStep(partition_of(source), offset_of(source), stored.offset, record)
        if (why := misfit(step)) is not None:
            return self._passed_over(stored, size, why)
        return _Decoded(size, step)

    def _passed_over(self, stored: Stored, size: int, why: str) -> _Decoded:
        log.warning(
            "The record %s %d:%d is shown on no page: %s.",
            self._topic,
            stored.partition,
            stored.offset,
            printable(why, 200),
        )
        return _Decoded(size, None)

    @staticmethod
    def _lost_before(
        known: KnownSession, chosen: Sequence[tuple[int, int]], stored: dict[tuple[int, int], Stored]
    ) -> int | None:
        """Return the time before which no step is held any more, None if the oldest is there."""
        if not chosen or chosen[0] in stored:
            return None
        held = [stored[place].timestamp for place in chosen if place in stored]
        return min(held, default=None if known.last_ts is None else known.last_ts + 1)

    # -- without an index

    async def _search(
        self, session_id: str, known: KnownSession | None, progress: Callable[[ReadProgress], None]
    ) -> KnownSession:
        """Look through the partition that the session's key belongs to, then through the others."""
        found = self._found.pop(session_id, None) or _Found()
        self._found[session_id] = found  # as the newest
        while len(self._found) > _REMEMBERED_SESSIONS:
            del self._found[next(iter(self._found))]
        key = session_id.encode("utf-8", "surrogateescape")
        async with found.searching:
            if found.next is None:
                found.next = await self._begin(known)
            for partition in await self._brokers.likely_partitions(self._topic, key):
                if found.places and partition != found.places[0][0]:
                    break
                await self._look_through(partition, key, found, found.next, progress)
        first_ts, last_ts = (known.first_ts, known.last_ts) if known else (None, None)
        return KnownSession(tuple(found.places), first_ts, last_ts, len(found.places))

    async def _begin(self, known: KnownSession | None) -> dict[int, int]:
        if self._from_beginning or known is None or known.first_ts is None:
            return {}
        return await self._brokers.offsets_at(self._topic, known.first_ts - _MARGIN_MS)

    async def _look_through(
        self,
        partition: int,
        key: bytes,
        found: _Found,
        following: dict[int, int],
        progress: Callable[[ReadProgress], None],
    ) -> None:
        """Search a partition from where the last search has ended to its end."""
        start, end = following.get(partition, 0), (await self._brokers.ends(self._topic))[partition]
        async for stored in self._brokers.read_range(self._topic, partition, start):
            following[partition] = stored.offset + 1
            if stored.key == key:
                found.places.append((partition, stored.offset))
                self._held.put((partition, stored.offset), stored)
            if stored.offset % _PROGRESS_EVERY == 0:
                read = stored.offset - start
                progress(ReadProgress(partition, read, max(end - start, read)))
                await asyncio.sleep(0)


def _before(known: KnownSession) -> int:
    """Return how many steps of a session come before the first place that is kept."""
    return max(0, known.records - len(known.places)) if len(known.places) >= KEPT_PLACES else 0


def _size(stored: Stored) -> int:
    return len(stored.value or b"")
