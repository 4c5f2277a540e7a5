"""A partition's database holds values and the offset they correspond to, together or not at all."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from rocksdict import Options, Rdict

from streams.core.errors import DamagedStateError, StateError
from streams.worker.state.store import FORMAT, PartitionStore, PartitionStores, StoreOptions
from streams.worker.state.store.damage import unusable


class Record(NamedTuple):
    key: bytes
    value: bytes | None
    timestamp: int


OPTIONS = StoreOptions(block_cache_bytes=1 << 20, write_buffer_bytes=1 << 20)
AT = 1_700_000_000_000


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "not" / "there" / "yet"


@pytest.fixture
def stores(directory: Path) -> Iterator[PartitionStores]:
    stores = PartitionStores(directory, OPTIONS)
    yield stores
    stores.close_all()


def test_a_new_database_is_empty_and_at_no_offset(stores: PartitionStores) -> None:
    assert stores[0].offset() is None
    assert list(stores[0].items()) == []
    assert stores[0].get(b"a") is None


def test_a_write_holds_values_deletions_and_the_offset(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"1"), (b"b", b"2"), (b"\xff", b"")], 7, AT)
    stores[0].write([(b"a", None), (b"b", b"3")], 9, AT)
    assert dict(stores[0].items()) == {b"b": b"3", b"\xff": b""}
    assert stores[0].get_many([b"\xff", b"a", b"b", b"none"]) == [b"", None, b"3", None]
    assert stores[0].offset() == 9


def test_of_one_key_written_twice_the_last_value_counts(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"1"), (b"a", None), (b"a", b"2")], 1, AT)
    assert stores[0].get(b"a") == b"2"


def test_a_write_without_values_moves_the_offset(stores: PartitionStores) -> None:
    stores[0].write([], 3, AT)
    assert stores[0].offset() == 3


def test_partitions_know_nothing_of_each_other(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"0")], 1, AT)
    stores[11].write([(b"a", b"11")], 5, AT)
    assert [(store.get(b"a"), store.offset()) for store in (stores[0], stores[11])] == [(b"0", 1), (b"11", 5)]
    assert set(stores.opened()) == {0, 11}


def test_a_closed_database_comes_back_as_it_was(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"1")], 1, AT)
    stores.close(0)
    stores.close(0)
    assert stores.opened() == {}
    assert (stores[0].get(b"a"), stores[0].offset()) == (b"1", 1)


def test_a_database_in_use_says_whose_directory_it_is(stores: PartitionStores, directory: Path) -> None:
    stores[0].write([], 1, AT)
    with pytest.raises(StateError, match="EDDY_DATA_DIR"):
        PartitionStores(directory, OPTIONS)[0]
    stores.close(0)
    other = PartitionStores(directory, OPTIONS)
    assert other[0].offset() == 1
    other.close_all()


def of_format(stores: PartitionStores, version: bytes) -> None:
    """Let the database of partition 0 be one that another version of Eddy wrote."""
    stores[0].write([(b"a", b"1")], 1, AT)
    path = stores[0].path
    stores.close_all()
    database = Rdict(str(path), options=Options(raw_mode=True))
    database.put(b"\x00format", version)
    database.close()


def test_a_database_of_an_older_format_is_discarded_with_a_word(
    stores: PartitionStores, caplog: pytest.LogCaptureFixture
) -> None:
    of_format(stores, b"1")
    assert list(stores[0].items()) == []
    assert (stores[0].offset(), stores[0].written_at()) == (None, None)
    (said,) = (record.message for record in caplog.records)
    assert "format 1" in said
    assert "restored from the changelog" in said
    stores[0].write([(b"b", b"2")], 9, AT)
    stores.close_all()
    assert (stores[0].get(b"b"), stores[0].offset()) == (b"2", 9)
    assert len(caplog.records) == 1


def test_each_value_was_touched_when_it_was_written(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"1"), (b"b", b""), (b"c", b"3")], 7, AT)
    stores[0].write([(b"b", b"2"), (b"c", None)], None, AT + 5)
    assert stores[0].scan(b"", 10) == [(b"a", AT, b"1"), (b"b", AT + 5, b"2")]


def test_a_restored_value_was_touched_when_its_record_says(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"1"), (b"gone", b"1")], 7, AT)
    records = [Record(b"old", b"3", -1), Record(b"a", b"2", AT - 9), Record(b"gone", None, AT)]
    stores[0].restore(records, 9, AT + 1)
    assert stores[0].scan(b"", 10) == [(b"a", AT - 9, b"2"), (b"old", 0, b"3")]
    assert (stores[0].offset(), stores[0].written_at()) == (9, AT + 1)


def test_a_database_is_as_old_as_what_moved_its_offset(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"1")], 7, AT)
    stores[0].write([(b"a", b"2")], None, AT + 5)
    assert (stores[0].offset(), stores[0].written_at()) == (7, AT)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_scans_one_after_another_see_every_entry_once_and_nothing_of_the_stores_own(
    stores: PartitionStores, limit: int
) -> None:
    keys = [b"\x00a", b"a", b"a\x00", b"ab", b"\xff\xff"]
    stores[0].write([(key, key) for key in keys], 1, AT)
    seen, after = [], b""
    while found := stores[0].scan(after, limit):
        assert len(found) <= limit
        seen += [key for key, _, _ in found]
        after = seen[-1]
    assert seen == keys


def test_a_database_of_a_newer_format_is_not_touched(stores: PartitionStores) -> None:
    of_format(stores, b"999")
    for _ in range(2):
        with pytest.raises(StateError, match="the changelog restores it"):
            stores[0]
    assert FORMAT != b"999"


def test_a_damaged_database_says_what_to_do(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"1")], 1, AT)
    path = stores[0].path
    stores.close_all()
    (path / "CURRENT").write_text("nothing\n")
    with pytest.raises(DamagedStateError, match="there is nothing to do"):
        stores[0]


@pytest.fixture
def damaged(stores: PartitionStores) -> PartitionStore:
    """A database that opens, though what its file holds behind the beginning was overwritten."""
    for tens in range(100):
        stores[0].write([(b"%04d" % (10 * tens + one), os.urandom(100)) for one in range(10)], tens, AT)
    path = stores[0].path
    stores.close_all()
    [file] = path.glob("*.sst")
    with file.open("r+b") as content:
        content.seek(file.stat().st_size // 4)
        content.write(b"\xff" * (file.stat().st_size // 4))
    return stores[0]


@pytest.mark.parametrize(
    "read",
    [
        lambda store, keys: [store.get(key) for key in keys],
        lambda store, keys: store.get_many(keys),
        lambda store, keys: store.entries(keys),
    ],
)
def test_values_that_the_disk_has_damaged_say_what_to_do(
    damaged: PartitionStore, read: Callable[[PartitionStore, list[bytes]], object]
) -> None:
    with pytest.raises(DamagedStateError, match="there is nothing to do"):
        read(damaged, [b"%04d" % number for number in range(1000)])


def test_a_scan_does_not_take_what_the_disk_has_damaged_for_the_end(damaged: PartitionStore) -> None:
    with pytest.raises(DamagedStateError, match="there is nothing to do"):
        damaged.scan(b"", 2000)
    with pytest.raises(DamagedStateError, match="there is nothing to do"):
        list(damaged.items())


def test_a_database_whose_first_values_are_damaged_is_not_taken_for_an_empty_one(
    stores: PartitionStores, damaged: PartitionStore
) -> None:
    path = damaged.path
    stores.close_all()
    [file] = path.glob("*.sst")
    with file.open("r+b") as content:
        content.write(b"\xff" * (file.stat().st_size // 2))
    with pytest.raises(DamagedStateError, match="there is nothing to do"):
        stores[0].is_empty()


@pytest.mark.parametrize(
    ("said", "damaged"),
    [
        ("Corruption: block checksum mismatch: stored = 1, computed = 2 in /data/0.db/9.sst", True),
        ("Corruption: Corruption: IO error: No such file or directory: While open a file: /data/9.sst", True),
        ("IO error: While reading file sequentially: /data/0.db/CURRENT: Is a directory", True),
        ("IO error: While pread offset 5 len 53: /data/0.db/9.sst: Input/output error", True),
        ("Is a directory (os error 21)", True),
        ("[Errno 17] File exists: '/data/sessions'", True),
        ("IO error: No space left on device: While appending to file: /data/flock/0.db/9.log", False),
        ("Corruption: IO error: While open a file for random read: /data/9.sst: Too many open files", False),
        ("IO error: While open a file for lock: /data/0.db/LOCK: Permission denied", False),
        ("Permission denied (os error 13)", False),
        ("[Errno 30] Read-only file system: '/data/sessions'", False),
        ("Shutdown in progress: ", False),
    ],
)
def test_damage_is_told_from_a_disk_that_refuses(said: str, damaged: bool) -> None:
    error = unusable(Path("0.db"), Exception(said))
    assert isinstance(error, DamagedStateError) == damaged
    assert ("Check the free space of the disk" in str(error)) != damaged
    assert said in str(error)


WRITER = """
import itertools, sys
from pathlib import Path
from streams.worker.state.store import PartitionStores, StoreOptions
options = StoreOptions(block_cache_bytes=1 << 20, write_buffer_bytes=1 << 20)
store = PartitionStores(Path(sys.argv[1]), options)[0]
for offset in itertools.count():
    number = b"%d" % offset
    store.write([(b"first", number), (b"pad%d" % (offset % 100), b"x" * 5000), (b"last", number)], offset, 5)
    print(offset, flush=True)
"""


def test_a_killed_writer_leaves_values_and_offset_of_the_same_write(directory: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= 500:
                break
        writer.send_signal(signal.SIGKILL)
    stores = PartitionStores(directory, OPTIONS)
    offset = stores[0].offset()
    assert offset is not None
    assert offset >= 500
    assert stores[0].get(b"first") == stores[0].get(b"last") == b"%d" % offset
    stores.close_all()


def test_a_database_keeps_few_logs_of_itself_however_often_it_is_opened(stores: PartitionStores) -> None:
    for _ in range(10):
        stores[0].write([(b"a", b"1")], 1, AT)
        path = stores[0].path
        stores.close_all()
    assert len([file for file in path.iterdir() if file.name.startswith("LOG")]) <= 4


def test_a_database_that_is_discarded_stays_bound_to_its_changelog(stores: PartitionStores) -> None:
    stores[0].bind("the first one")
    stores[0].write([(b"k", b"v")], 7, 5)
    stores.discard(0)
    assert (stores[0].get(b"k"), stores[0].offset(), stores[0].changelog()) == (None, None, "the first one")


def test_a_database_that_was_bound_to_none_is_not_when_it_is_discarded(stores: PartitionStores) -> None:
    stores[0].write([(b"k", b"v")], 7, 5)
    stores.discard(0)
    assert stores[0].changelog() is None
