"""What a restore takes of a changelog that two workers have written to."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from streams.aggregation import encode_aggregate
from streams.domain.agent_health import AgentHealth
from streams.domain.contribution import Contribution
from streams.engine.aggregates_epoch import AGGREGATE_FORM
from streams.engine.changelog import SESSION_FORM, SETTINGS_KEY, outdated_session
from streams.engine.recovery import _newest
from streams.engine.store import PartitionStore, PartitionStores, StoreOptions


class Record(NamedTuple):
    key: bytes
    value: bytes | None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PartitionStore]:
    stores = PartitionStores(tmp_path, StoreOptions())
    yield stores[0]
    stores.close_all()


def state(offset: int) -> bytes:
    return b'[1,0,%d,"active",5]' % offset


def newest(store: PartitionStore, *records: tuple[bytes, bytes | None]) -> dict[bytes, bytes | None]:
    return dict(_newest([Record(*record) for record in records], store, SESSION_FORM.outdated))


def test_a_record_older_than_one_before_it_does_not_count(store: PartitionStore) -> None:
    assert newest(store, (b"sa", state(3)), (b"sa", state(9)), (b"sa", state(5))) == {b"sa": state(9)}


def test_a_record_older_than_what_is_stored_does_not_count(store: PartitionStore) -> None:
    store.write([(b"sa", state(9)), (b"sb", state(2))], 1)
    assert newest(store, (b"sa", state(5)), (b"sb", state(4))) == {b"sa": state(9), b"sb": state(4)}


def test_a_tombstone_counts_and_so_does_what_comes_after_it(store: PartitionStore) -> None:
    assert newest(store, (b"sa", state(9)), (b"sa", None)) == {b"sa": None}
    assert newest(store, (b"sa", state(9)), (b"sa", None), (b"sa", state(5))) == {b"sa": state(5)}


def test_the_last_settings_ledger_counts(store: PartitionStore) -> None:
    assert newest(store, (SETTINGS_KEY, b"[2,900,[],[]]"), (SETTINGS_KEY, b"[2,100,[],[]]")) == {
        SETTINGS_KEY: b"[2,100,[],[]]"
    }


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
    outdated = AGGREGATE_FORM.outdated
    assert outdated(b"ha", health(p0=3, p1=5), health(p0=3, p1=6))
    assert outdated(b"ha", health(p0=3), health(p0=3, p1=6))
    assert not outdated(b"ha", health(p0=3, p1=6), health(p0=3, p1=6))
    assert not outdated(b"ha", health(p0=4, p1=5), health(p0=3, p1=6))
