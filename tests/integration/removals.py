"""Which sessions the clock has removed, and whether it might (specification 2.5, 2.6).

The reference has no clock, and when a worker got to a session that was due is decided by the clock and by
faults. So it is read off the changelog, in which a tombstone names the state it buried. All else follows from
that: what the removal has told, with which bytes, and that the next record begins a new session. A tombstone
in turn has to be right:

    it buries the newest state that the records of the session had led to
    it was written after that state's life and the grace, by the times of the changelog's own records; the
    stub of an ended session after its rest
    the next record of the session was not there yet when that life and the grace were over

The last is where the clock decides. The reader of the input takes note of when it had seen a record. One seen
before the end was there, and the state had to wait for it; one seen later may have come on either side, and
the tombstone says on which. A record less than the grace behind its timestamp, that the session had a right
to, is always among the first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.session import Session
from streams.core.pipeline import expire
from streams.kafka.client import Stored
from streams.worker.batch import Job
from streams.worker.run_result import RunResult
from streams.worker.state.changelog import removed_value, session_id_of, session_source


@dataclass(frozen=True, slots=True)
class Lives:
    """What the clock had to keep to.

    Attributes:
        rest_ms: The stub of an ended session stays so long at least.
        seen_ms: By partition and offset of the input, a time at which a reader had the record.
        fenced: Whether who was taken for dead cannot write any more. Where it can, and where a worker may die
            between what it tells and its tombstone, an end may be told of a session that then goes on.
    """

    rest_ms: int
    seen_ms: Mapping[tuple[int, int], int]
    fenced: bool


class _Place(NamedTuple):
    """A state: that of a session up to an offset."""

    partition: int
    session_id: str
    offset: int


class _Entry(NamedTuple):
    written_ms: int
    offset: int
    gone: bool


class _End(NamedTuple):
    """What is known of the end of a state. Without ``removed_ms`` it was told, and the state stayed."""

    touched_ms: int
    removed_ms: int | None


class LetGo(NamedTuple):
    """What the end of a session leads to; ``stays`` where it was only told."""

    session: Session
    folded: RunResult
    stays: bool


class Removals:
    """Whom the clock has removed, told to a fold session by session.

    Args:
        lives: What the clock had to keep to.
        changelog: All of the sessions' changelog, each partition in its order.
        ends: Partition, session and offset of each state whose end was told.

    Attributes:
        problems: What must not be, each with what it is the matter with.
        counts: ``expired`` and ``ended`` sessions that were removed; ``came back``, of those, and began anew;
            ``only told``, whose end was told and who went on.
        delays_ms: The delays of the expired, from the end of their lives to the tombstone.
    """

    def __init__(
        self, lives: Lives, changelog: Iterable[Stored], ends: Iterable[tuple[int, str, int]] = ()
    ) -> None:
        self.problems: dict[str, list[str]] = defaultdict(list)
        self.counts: Counter[str] = Counter()
        self.delays_ms: list[int] = []
        self._lives = lives
        #: Those whose end was told and who have not come back: when it was, and whether they were removed.
        self._over: dict[tuple[int, str], tuple[int, bool]] = {}
        self._ends = dict(self._of(changelog, {_Place(*each) for each in ends}))

    def let_go(
        self,
        partition: int,
        session_id: str,
        sessions: MutableMapping[str, Session],
        settings: DetectionSettings,
        job: Job,
    ) -> LetGo | None:
        """Take a session out of a partition's ``sessions`` if it was removed with the state it has there.

        Has to be called before each record of the session, and behind the last one.
        """
        session = sessions.get(session_id)
        if session is None:
            return None
        place = _Place(partition, session_id, session.offset)
        end = self._ends.pop(place, None)
        if end is None:
            return None
        if end.removed_ms is not None:
            del sessions[session_id]
        if session.ended:
            self._judge_stub(place, end)
            return None
        folded = RunResult()
        ahead = min(max(0, session.latest - end.touched_ms), settings.max_future_ms)
        until_ms = end.touched_ms + ahead + settings.session_ttl_ms + settings.state_grace_ms
        self._over[partition, session_id] = until_ms, end.removed_ms is not None
        if not settings.session_ttl_ms:
            self.problems["removed, though sessions live for ever"].append(str(place))
        if end.removed_ms is None:
            self.counts["only told"] += 1
        else:
            self.counts["expired"] += 1
            self.delays_ms.append(end.removed_ms - until_ms)
            if end.removed_ms <= until_ms:
                self.problems["removed too early"].append(f"{place}, {until_ms - end.removed_ms} ms")
        job.expired(session_id, expire(session_id, session, settings), until_ms, folded)
        return LetGo(session, folded, stays=end.removed_ms is None)

    def came(self, partition: int, session_id: str, sessions: Mapping[str, Session], offset: int) -> None:
        """Take note that a record of the session was folded, which may have been refused."""
        session = sessions.get(session_id)
        if session is None or session.offset != offset:
            return
        over = self._over.pop((partition, session_id), None)
        if over is None:
            return
        until_ms, removed = over
        self.counts["came back"] += removed
        early_ms = until_ms - self._lives.seen_ms[partition, offset]
        if early_ms >= 0:
            place = _Place(partition, session_id, offset)
            self.problems["removed while a record waited"].append(f"{place}, {early_ms} ms")

    def finish(self) -> None:
        """Take note of the ends of states that never were."""
        self.problems["removed with a state that never was"] += map(str, self._ends)

    def _judge_stub(self, place: _Place, end: _End) -> None:
        self.counts["ended"] += 1
        if end.removed_ms is None:
            self.problems["the end of an ended session was told"].append(str(place))
        elif end.removed_ms < end.touched_ms + self._lives.rest_ms:
            short = end.touched_ms + self._lives.rest_ms - end.removed_ms
            self.problems["stubs removed too early"].append(f"{place}, {short} ms")

    def _of(self, changelog: Iterable[Stored], told: set[_Place]) -> Iterator[tuple[_Place, _End]]:
        """Yield the ends that the changelog knows, and those that were only told."""
        entries = self._entries(changelog)
        removed = set()
        for (partition, session_id), of_session in entries.items():
            for offset in {entry.offset for entry in of_session if entry.gone}:
                place = _Place(partition, session_id, offset)
                if (end := self._end(place, of_session)) is not None:
                    removed.add(place)
                    yield place, end
        if self._lives.fenced:
            return  # what was told of others is from nowhere
        for place in told - removed:
            states = [
                entry
                for entry in _until_newer(entries[place.partition, place.session_id], place.offset)
                if entry.offset == place.offset
            ]
            if states:
                yield place, _End(states[-1].written_ms, None)

    def _entries(self, changelog: Iterable[Stored]) -> Mapping[tuple[int, str], list[_Entry]]:
        found: dict[tuple[int, str], list[_Entry]] = defaultdict(list)
        for stored in changelog:
            session_id = session_id_of(stored.key or b"")
            if session_id is None:
                continue
            gone = stored.value is None
            position = removed_value(stored.headers) if stored.value is None else stored.value
            source = None if position is None else session_source(stored.key or b"", position)
            if source is None or int(source[0]) != stored.partition:
                self.problems["changelog records of no place"].append(str(stored))
            else:
                found[stored.partition, session_id].append(_Entry(stored.timestamp, source[1], gone))
        return found

    def _end(self, place: _Place, entries: list[_Entry]) -> _End | None:
        """Return the end of a state that has tombstones; None where they have come too late to be one."""
        own = [entry for entry in _until_newer(entries, place.offset) if entry.offset == place.offset]
        graves = [number for number, entry in enumerate(own) if entry.gone]
        if not graves:
            if self._lives.fenced:
                self.problems["buried what had gone on"].append(str(place))
            return None
        first = graves[0]
        if first == 0:
            self.problems["buried a state that was never written"].append(str(place))
            return None
        if not own[-1].gone:
            # It may be restored or not: how the session goes on cannot be told.
            self.problems["state stands behind its tombstone"].append(str(place))
        if len(graves) > 1 and self._lives.fenced:
            self.problems["buried twice"].append(str(place))
        return _End(own[first - 1].written_ms, own[first].written_ms)


def _until_newer(entries: list[_Entry], offset: int) -> list[_Entry]:
    """Return the entries that stand before the first one of a later record."""
    newer = next((number for number, entry in enumerate(entries) if entry.offset > offset), len(entries))
    return entries[:newer]


def told_ends(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, str, int]]:
    """Yield partition, session and offset of the events that housekeeping told."""
    for event in events:
        if is_told_end(event["id"]):
            yield event["partition"], event["session_id"], event["offset"]


def is_told_end(name: str) -> bool:
    """Tell by the id of an output whether housekeeping told it."""
    return name.endswith("/expired")
