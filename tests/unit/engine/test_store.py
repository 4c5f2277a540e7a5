"""A partition's database holds values and the offset they correspond to, together or not at all."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocksdict import Options, Rdict

from streams.engine.store import FORMAT, PartitionStores, StoreOptions
from streams.errors import StateError

OPTIONS = StoreOptions(block_cache_bytes=1 << 20, write_buffer_bytes=1 << 20)


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
    stores[0].write([(b"a", b"1"), (b"b", b"2"), (b"\xff", b"")], 7)
    stores[0].write([(b"a", None), (b"b", b"3")], 9)
    assert dict(stores[0].items()) == {b"b": b"3", b"\xff": b""}
    assert stores[0].get_many([b"\xff", b"a", b"b", b"none"]) == [b"", None, b"3", None]
    assert stores[0].offset() == 9


def test_of_one_key_written_twice_the_last_value_counts(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"1"), (b"a", None), (b"a", b"2")], 1)
    assert stores[0].get(b"a") == b"2"


def test_a_write_without_values_moves_the_offset(stores: PartitionStores) -> None:
    stores[0].write([], 3)
    assert stores[0].offset() == 3


def test_partitions_know_nothing_of_each_other(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"0")], 1)
    stores[11].write([(b"a", b"11")], 5)
    assert [(store.get(b"a"), store.offset()) for store in (stores[0], stores[11])] == [(b"0", 1), (b"11", 5)]
    assert set(stores.opened()) == {0, 11}


def test_a_closed_database_comes_back_as_it_was(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"1")], 1)
    stores.close(0)
    stores.close(0)
    assert stores.opened() == {}
    assert (stores[0].get(b"a"), stores[0].offset()) == (b"1", 1)


def test_a_database_in_use_says_whose_directory_it_is(stores: PartitionStores, directory: Path) -> None:
    stores[0].write([], 1)
    with pytest.raises(StateError, match="EDDY_DATA_DIR"):
        PartitionStores(directory, OPTIONS)[0]
    stores.close(0)
    other = PartitionStores(directory, OPTIONS)
    assert other[0].offset() == 1
    other.close_all()


def test_a_database_of_another_format_is_not_touched(stores: PartitionStores, directory: Path) -> None:
    stores[0].write([(b"a", b"1")], 1)
    path = stores[0].path
    stores.close_all()
    database = Rdict(str(path), options=Options(raw_mode=True))
    database.put(b"\x00format", b"999")
    database.close()
    for _ in range(2):
        with pytest.raises(StateError, match="the changelog restores it"):
            stores[0]
    assert FORMAT != b"999"


def test_a_damaged_database_says_what_to_do(stores: PartitionStores) -> None:
    stores[0].write([(b"a", b"1")], 1)
    path = stores[0].path
    stores.close_all()
    (path / "CURRENT").write_text("nothing\n")
    with pytest.raises(StateError, match="delete the directory"):
        stores[0]


WRITER = """
import itertools, sys
from pathlib import Path
from streams.engine.store import PartitionStores, StoreOptions
options = StoreOptions(block_cache_bytes=1 << 20, write_buffer_bytes=1 << 20)
store = PartitionStores(Path(sys.argv[1]), options)[0]
for offset in itertools.count():
    number = b"%d" % offset
    store.write([(b"first", number), (b"pad%d" % (offset % 100), b"x" * 5000), (b"last", number)], offset)
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
