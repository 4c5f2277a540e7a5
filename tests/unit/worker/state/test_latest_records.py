"""What a restore takes of a changelog that two workers have written to."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.aggregates.agent_health import AgentHealth
from streams.core.domain.aggregates.contribution import Contribution
from streams.core.domain.session import Session
from streams.core.settings_document import ShadowDocument
from streams.worker.aggregates_epoch import AGGREGATES_FORMAT
from streams.worker.aggregation import encode_aggregate
from streams.worker.settings_ledger import LedgerEntry, SettingsLedger, ShadowEntry
from streams.worker.state.changelog import (
    SESSION_FORMAT,
    SETTINGS_KEY,
    outdated_session,
    removed_value,
    tombstone_headers_of,
)
from streams.worker.state.restore import LatestRecords
from streams.worker.state.store import PartitionStore, PartitionStores, StoreOptions


class Record(NamedTuple):
    key: bytes
    value: bytes | None
    timestamp: int = 0
    headers: tuple[tuple[str, bytes], ...] = ()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PartitionStore]:
    stores = PartitionStores(tmp_path, StoreOptions())
    yield stores[0]
    stores.close_all()


def state(offset: int) -> bytes:
    return b'[1,0,%d,"active",5]' % offset


def newest(store: PartitionStore, *records: tuple[bytes, bytes | None]) -> dict[bytes, bytes | None]:
    found = counting(store, [Record(*record) for record in records])
    return {key: value for key, (value, _) in found.items()}


def counting(store: PartitionStore, records: list[Record]) -> dict[bytes, tuple[bytes | None, int]]:
    found = LatestRecords(SESSION_FORMAT, store).of(records)
    return {record.key: (record.value, record.timestamp) for record in found}


def test_a_record_older_than_one_before_it_does_not_count(store: PartitionStore) -> None:
    assert newest(store, (b"sa", state(3)), (b"sa", state(9)), (b"sa", state(5))) == {b"sa": state(9)}


def test_a_record_older_than_what_is_stored_does_not_count(store: PartitionStore) -> None:
    store.write([(b"sa", state(9)), (b"sb", state(2))], 1, 5)
    assert newest(store, (b"sa", state(5)), (b"sb", state(4))) == {b"sb": state(4)}


def test_what_counts_was_touched_when_its_record_was_written(store: PartitionStore) -> None:
    records = [Record(b"sa", state(3), 10), Record(b"sa", state(9), 20), Record(b"sa", state(5), 30)]
    assert counting(store, records) == {b"sa": (state(9), 20)}


def test_a_tombstone_counts_and_so_does_what_comes_after_it(store: PartitionStore) -> None:
    assert newest(store, (b"sa", state(9)), (b"sa", None)) == {b"sa": None}
    assert newest(store, (b"sa", state(9)), (b"sa", None), (b"sa", state(5))) == {b"sa": state(5)}


def test_a_tombstone_older_than_what_is_known_does_not_count_nor_does_what_is_older_than_a_tombstone(
    store: PartitionStore,
) -> None:
    store.write([(b"sa", state(9)), (b"sb", state(9))], 1, 5)
    early, late = (tuple(tombstone_headers_of(Session(0, offset))) for offset in (7, 9))
    records = [
        Record(b"sa", None, 10, early),
        Record(b"sb", None, 20, late),
        Record(b"sb", state(8), 30),
        Record(b"sc", None, 40, late),
        Record(b"sc", state(12), 50),
    ]
    assert counting(store, records) == {b"sb": (None, 20), b"sc": (state(12), 50)}


def ledger(reserved: int, version: int = 5, trial: int = 0, source: str | None = "id") -> bytes:
    tried = (ShadowEntry(40, 40, ShadowDocument(trial, trial, DEFAULTS)),) if trial else ()
    entries = (LedgerEntry(0, replace(DEFAULTS, version=version)),)
    return SettingsLedger(entries, reserved, tried, source).encode()


@pytest.mark.parametrize(
    ("written_last", "before"),
    [
        (ledger(900), ledger(901)),
        (ledger(990, version=5), ledger(900, version=6)),
        (ledger(990, trial=1), ledger(900, trial=2)),
        (ledger(900, source=None), ledger(901)),
        (b"[1,900,[]]", ledger(901)),
        (b"[2,900,[],[]]", b"[2,901,[],[]]"),
    ],
)
def test_a_settings_ledger_from_before_another_does_not_count_though_it_was_written_last(
    store: PartitionStore, written_last: bytes, before: bytes
) -> None:
    assert newest(store, (SETTINGS_KEY, before), (SETTINGS_KEY, written_last)) == {SETTINGS_KEY: before}
    store.write([(SETTINGS_KEY, before)], 1, 5)
    assert newest(store, (SETTINGS_KEY, written_last)) == {}


@pytest.mark.parametrize(
    ("written_last", "before"),
    [
        (ledger(901), ledger(900)),
        (ledger(900), ledger(900)),
        (ledger(900, version=6), ledger(990, version=5)),
        (ledger(900, version=6, trial=1), ledger(901, version=5, trial=2)),
        (ledger(900, source="new"), ledger(901)),
        (b"[4,1]", ledger(900)),
        (b"[]", ledger(900)),
        (b"damaged", ledger(900)),
        (b'[3,"9",[],[],null]', ledger(900)),
        (ledger(900), b'{"a": 1}'),
        (b"[2,100,[[0,1]],[[0,0]]]", ledger(900)),
    ],
)
def test_any_other_settings_ledger_that_was_written_last_counts(
    store: PartitionStore, written_last: bytes, before: bytes
) -> None:
    assert newest(store, (SETTINGS_KEY, before), (SETTINGS_KEY, written_last)) == {SETTINGS_KEY: written_last}


@pytest.mark.parametrize(
    ("stored", "known", "outdated"),
    [
        (b"[1,0,7]", b"[1,0,8]", True),
        (b"[1,0,9]", b"[1,0,10]", True),
        (b"[1,0,8]", b"[1,0,8]", False),
        (b"[1,0,7]", b"[1,3,8]", False),
        (b"damaged", b"[1,0,8]", False),
        (b'[1,0,7,"active",5,[1,0,9]]', b"[1,0,8]", True),
    ],
)
def test_a_session_is_as_old_as_its_newest_record(stored: bytes, known: bytes, outdated: bool) -> None:
    assert outdated_session(b"sa", stored, known) is outdated


def health(**offsets: int) -> bytes:
    counts = AgentHealth()
    for source, offset in offsets.items():
        counts = counts.plus(Contribution("a", int(source[1:]), offset, 900_000, {"sessions": {3: 1}}, {}))
    return encode_aggregate(counts)


def test_an_aggregate_is_outdated_when_each_of_its_sources_is_as_old_or_older() -> None:
    outdated = AGGREGATES_FORMAT.outdated
    assert outdated(b"ha", health(p0=3, p1=5), health(p0=3, p1=6))
    assert outdated(b"ha", health(p0=3), health(p0=3, p1=6))
    assert not outdated(b"ha", health(p0=3, p1=6), health(p0=3, p1=6))
    assert not outdated(b"ha", health(p0=4, p1=5), health(p0=3, p1=6))


SESSIONS = st.sampled_from([b"sa", b"sb", b"sc", b"sd"])
OFFSETS = st.integers(0, 12)
VALUES = st.builds(
    lambda partition, offset: b'[1,%d,%d,"active"]' % (partition, offset), st.integers(0, 1), OFFSETS
)
RECORDS = st.one_of(
    st.builds(Record, SESSIONS, VALUES),
    st.builds(Record, SESSIONS, st.none()),
    st.builds(
        lambda key, offset: Record(key, None, 0, tuple(tombstone_headers_of(Session(0, offset)))),
        SESSIONS,
        OFFSETS,
    ),
    st.builds(Record, st.just(SETTINGS_KEY), st.sampled_from([b"[2,900,[],[]]", b"[2,100,[],[]]"])),
    st.builds(Record, SESSIONS, st.sampled_from([b"damaged", b"[1,0,7]", b"[1,0,x,5]"])),
)


def epochs(draw: st.DrawFn) -> list[Record]:
    """A changelog as workers write it: in the order of the source, with what a zombie or a replay repeats."""
    written: list[Record] = []
    offset = 0
    for kind in draw(st.lists(st.sampled_from(["epoch", "epoch", "epoch", "again", "bury"]), max_size=20)):
        if kind == "epoch":
            for key in draw(st.lists(SESSIONS, unique=True, min_size=1)):
                offset += 1
                written.append(Record(key, state(offset), offset))
        elif written and kind == "again":
            since = draw(st.integers(0, len(written) - 1))
            written += written[since : since + draw(st.integers(1, 6))]
        elif written:
            gone = draw(st.sampled_from(written))
            if gone.value is not None:
                _, partition, offset_then, *_ = orjson.loads(gone.value)
                written.append(
                    Record(gone.key, None, 0, tuple(tombstone_headers_of(Session(partition, offset_then))))
                )
    return written


CHANGELOGS = st.one_of(st.lists(RECORDS, max_size=40), st.composite(epochs)())


class Memory:
    """A database in memory."""

    def __init__(self, values: dict[bytes, bytes]) -> None:
        self.values = dict(values)

    def is_empty(self) -> bool:
        return not self.values

    def get_many(self, keys: list[bytes]) -> list[bytes | None]:
        return [self.values.get(key) for key in keys]

    def write(self, records: Sequence[Record]) -> None:
        for record in records:
            if record.value is None:
                self.values.pop(record.key, None)
            else:
                self.values[record.key] = record.value


def compared(records: Sequence[Record], database: Memory) -> list[Record]:
    """The rule as it is said: each record is compared with what is known of its key."""
    known = dict(database.values)
    counting = []
    for record in records:
        before = known.get(record.key)
        value = removed_value(record.headers) if record.value is None else record.value
        if value is None or before is None or not outdated_session(record.key, value, before):
            if value is None:
                known.pop(record.key, None)
            else:
                known[record.key] = value
            counting.append(record)
    return counting


@given(CHANGELOGS, st.dictionaries(SESSIONS, VALUES), st.integers(1, 9))
def test_looking_up_only_what_breaks_the_order_takes_what_comparing_everything_takes(
    changelog: list[Record], stored: dict[bytes, bytes], together: int
) -> None:
    fast, naive = Memory(stored), Memory(stored)
    newest = LatestRecords(SESSION_FORMAT, cast("PartitionStore", fast))
    for begin in range(0, len(changelog), together):
        part = changelog[begin : begin + together]
        fast.write(cast("list[Record]", newest.of(part)))
        naive.write(compared(part, naive))
        assert fast.values == naive.values


def test_a_changelog_in_the_order_of_its_source_is_looked_up_nowhere() -> None:
    class Unasked(Memory):
        def get_many(self, keys: list[bytes]) -> list[bytes | None]:
            raise AssertionError(f"{keys} looked up")

    newest = LatestRecords(SESSION_FORMAT, cast("PartitionStore", Unasked({})))
    records = [Record(b"s%d" % (offset % 7), state(offset)) for offset in range(100)]
    assert newest.of(records) == records
