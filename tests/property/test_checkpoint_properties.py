"""Whenever a worker dies, its successor puts out what is missing, nothing twice, and has the same state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from streams.worker.state.checkpoint import CheckpointMark, Unsaved, outdated_mark

SESSIONS = "abcdefgh"
MOST = 6


@dataclass(frozen=True)
class Span:
    """Some records of a partition."""

    first_offset: int
    names: str

    @property
    def next_offset(self) -> int:
        return self.first_offset + len(self.names)


@dataclass(frozen=True)
class Seen:
    """A session that knows its records."""

    offsets: tuple[int, ...] = ()

    @property
    def offset(self) -> int:
        return self.offsets[-1]


@dataclass
class Log:
    """A changelog, and the outputs that are there with it."""

    sessions: dict[str, Seen] = field(default_factory=dict)
    mark: CheckpointMark | None = None
    outputs: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)

    def write(self, values: Mapping[str, Seen], mark: CheckpointMark | None) -> None:
        self.sessions.update(values)
        self.written += [value.offset for value in values.values()]
        if mark is not None:
            assert self.mark is None or not outdated_mark(mark.encode(), self.mark.encode())
            self.mark = mark


class Owner:
    """A worker, from its assignment to its death: as the epoch of the sessions and the checkpoints do it."""

    def __init__(self, log: Log, records: str, interval_s: float, not_committed: int = 0) -> None:
        self._log = log
        self._records = records
        self.unsaved: Unsaved[Seen] = Unsaved(log.mark, lambda value: value.offset, interval_s)
        committed = max(0, len(log.outputs) - not_committed)
        since = self.unsaved.since
        self._committed = committed
        self.position = committed if since is None else min(since, committed)
        self._cached: dict[str, Seen] = {}

    def process(self, count: int, now: float) -> None:
        run = Span(self.position, self._records[self.position : self.position + count])
        if not run.names:
            return
        quiet = self.unsaved.quiet_until(self._committed)
        changed: dict[str, Seen] = {}
        put_out = []
        for offset, name in enumerate(run.names, run.first_offset):
            session = changed.get(name) or self.unsaved.get(name) or self._log.sessions.get(name, Seen())
            if offset in session.offsets or (session.offsets and offset <= session.offset):
                continue
            changed[name] = Seen((*session.offsets, offset))
            if offset >= quiet:
                put_out.append(offset)
        if not self.unsaved.is_marked:
            self._log.write(changed, None)
            self._log.outputs += put_out
        else:
            anew = run.next_offset > quiet
            later = Span(max(run.first_offset, quiet), run.names[max(0, quiet - run.first_offset) :])
            mark = self.unsaved.mark_with(later, changed) if anew else self.unsaved.mark
            self._log.outputs += put_out
            self._log.write({}, mark)
            self.unsaved.take(changed, run, now)
            self.unsaved.mark = mark
        self.position = run.next_offset

    def checkpoint(self, now: float, share: float) -> None:
        due = self.unsaved.due(now, MOST)
        self._write(dict(list(due.items())[: max(1, int(len(due) * share))]))

    def release(self, now: float) -> None:
        while waiting := self.unsaved.next_ones(now):
            self._write(waiting)

    def _write(self, part: Mapping[str, Seen]) -> None:
        if part:
            mark = self.unsaved.mark_without(part)
            self._log.write(part, mark)
            self.unsaved.saved(part, mark)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.integers(1, 4)),
        st.tuples(st.just("run"), st.integers(1, 4)),
        st.tuples(st.just("checkpoint"), st.integers(1, 4)),
        st.tuples(st.just("checkpoint"), st.integers(1, 4)),
        st.tuples(st.sampled_from(["dies", "leaves"]), st.sampled_from([0, 2])),
    ),
    min_size=20,
    max_size=60,
)
RECORDS = st.text(SESSIONS, min_size=30, max_size=80)


@given(RECORDS, STEPS)
def test_nothing_is_lost_twice_or_wrong_whoever_dies_when(records: str, steps: list[tuple[str, int]]) -> None:
    log = Log()
    owner, now = Owner(log, records, 2.0), 0.0
    for what, number in steps:
        now += 1.0
        match what:
            case "run":
                owner.process(number, now)
            case "checkpoint":
                owner.checkpoint(now, number / 4)
            case "dies":
                owner = Owner(log, records, number, not_committed=2)
            case _:
                owner.release(now)
                owner = Owner(log, records, number)
    owner = Owner(log, records, 2.0)
    while owner.position < len(records):
        owner.process(7, now)
    owner.release(now)

    assert log.outputs == list(range(len(records)))
    expected: dict[str, Seen] = {}
    for offset, name in enumerate(records):
        expected[name] = Seen((*expected.get(name, Seen()).offsets, offset))
    assert log.sessions == expected
    assert log.mark is None or log.mark.since is None


@given(RECORDS, st.lists(st.integers(1, 5), max_size=20))
def test_one_owner_writes_in_the_order_of_the_source(records: str, counts: list[int]) -> None:
    log = Log()
    owner = Owner(log, records, 2.0)
    for now, count in enumerate(counts):
        owner.process(count, float(now))
        owner.checkpoint(now + 0.5, 0.5)
    owner.release(100.0)
    assert log.written == sorted(log.written)
