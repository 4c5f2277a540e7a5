"""Whatever happens to a file of a database: it is at some write that was made, or the damage is noticed."""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from rocksdict import Cache

from streams.core.errors import DamagedStateError, StateError
from streams.worker.state.store import SET_ASIDE, PartitionStore, PartitionStores, StoreOptions, inspect_store

OPTIONS = StoreOptions(block_cache_bytes=1 << 20, write_buffer_bytes=1 << 16, max_write_buffers=6)
AT = 1_700_000_000_000
MEMORY_BYTES = 32 << 20
AT_ONCE = 8

Content = dict[bytes, bytes]


def opened(path: Path, *, merged: int = 1) -> PartitionStore:
    options = OPTIONS.to_options(Cache(1 << 20))
    options.set_min_write_buffer_number_to_merge(merged)
    return PartitionStore(path, options, OPTIONS.stretch_bytes)


class Written:
    """A database as a killed worker leaves it, and what it held after each write."""

    def __init__(
        self, directory: Path, *, writes: int, merged: int = 1, reopened: tuple[int, ...] = ()
    ) -> None:
        self.path = directory / "killed.db"
        self.random = Random(writes)
        self.after: list[Content] = []
        store, content = opened(directory / "live.db", merged=merged), Content()
        for offset in range(writes):
            if offset in reopened:
                store.close()
                store = opened(directory / "live.db", merged=merged)
            items = [
                (b"s%03d" % self.random.randrange(300), self.random.randbytes(200) if number else None)
                for number in range(5)
            ]
            store.write(items, offset, AT)
            for key, value in items:
                if value is None:
                    content.pop(key, None)
                else:
                    content[key] = value
            self.after.append(dict(content))
        _copy_at_rest(store.path, self.path)
        store.close()

    def outcome(self, path: Path) -> str:
        """Say what comes of a damaged copy."""
        try:
            store = opened(path)
        except DamagedStateError:
            return "noticed"
        try:
            offset, content = store.offset(), dict(store.items())
        except DamagedStateError:
            return "noticed"
        finally:
            store.close()
        if content != (self.after[offset] if offset is not None else {}):
            return f"WRONG at {offset} of {len(self.after) - 1}"
        return "complete" if offset == len(self.after) - 1 else "earlier"


def _copy_at_rest(path: Path, copy: Path) -> None:
    """Copy a database in use between two changes of RocksDB's own."""

    def sizes(of: Path) -> dict[str, int]:
        return {file.name: file.stat().st_size for file in of.iterdir()}

    while True:
        shutil.rmtree(copy, ignore_errors=True)
        try:
            before = sizes(path)
            shutil.copytree(path, copy)
            if before == sizes(copy) == sizes(path):
                return
        except (shutil.Error, FileNotFoundError):
            continue


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """Yield a directory for copies: in memory if there is such a place, because to open one syncs often."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < MEMORY_BYTES:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        yield Path(directory)


def damages(good: bytes, random: Random) -> Iterator[tuple[str, bytes | None]]:
    """Yield what may become of a file: its new content, None where it is gone."""
    size = len(good)
    yield "removed", None
    for length in sorted({0, size - 1, *(size * part // 25 for part in range(25))}):
        if 0 <= length < size:
            yield f"cut to {length} of {size}", good[:length]
    for _ in range(12 if size else 0):
        at, bit = random.randrange(size), 1 << random.randrange(8)
        yield f"byte {at} of {size} changed", good[:at] + bytes([good[at] ^ bit]) + good[at + 1 :]


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"writes": 700}, id="a MANIFEST with flushes, compactions"),
        pytest.param({"writes": 420, "merged": 4}, id="several write-ahead logs"),
        pytest.param({"writes": 700, "reopened": (100, 101, 400, 690)}, id="opened several times"),
    ],
)
def test_a_damaged_file_leaves_a_state_that_was_or_is_noticed(
    tmp_path: Path, in_memory: Path, how: dict[str, int]
) -> None:
    written = Written(tmp_path, **how)  # type: ignore[arg-type]
    assert written.outcome(_fresh(written, in_memory)) == "complete"
    cases = {
        f"{file.name} {what}": (file.name, content)
        for file in sorted(written.path.iterdir())
        for what, content in damages(file.read_bytes(), written.random)
    }

    def outcome(what: str) -> str:
        name, content = cases[what]
        copy = _fresh(written, in_memory, what)
        if content is None:
            (copy / name).unlink()
        else:
            (copy / name).write_bytes(content)
        try:
            return written.outcome(copy)
        finally:
            shutil.rmtree(copy)

    # Where a compaction met the damage, RocksDB pauses for a second before it closes: others go on meanwhile.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = dict(zip(cases, pool.map(outcome, cases), strict=True))
    assert {what: outcome for what, outcome in outcomes.items() if outcome.startswith("WRONG")} == {}
    assert {outcomes[what] for what in outcomes if what.startswith("CURRENT")} == {"noticed"}
    # A compaction may have left one that nobody needs.
    assert "noticed" in {outcomes[what] for what in outcomes if "sst cut" in what}
    assert "earlier" in outcomes.values()


def _fresh(written: Written, directory: Path, name: str = "copy.db") -> Path:
    shutil.rmtree(directory / name, ignore_errors=True)
    return Path(shutil.copytree(written.path, directory / name))


def manifest_records(manifest: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each record of a MANIFEST below 32 KiB begins and ends."""
    at = 0
    while at < len(manifest):
        end = at + 7 + int.from_bytes(manifest[at + 4 : at + 6], "little")
        yield at, end
        at = end


def test_a_manifest_cut_behind_any_record_loses_no_write_silently(tmp_path: Path, in_memory: Path) -> None:
    written = Written(tmp_path, writes=900)
    [manifest] = written.path.glob("MANIFEST-*")
    good = manifest.read_bytes()
    outcomes = []
    for _, end in manifest_records(good):
        copy = _fresh(written, in_memory)
        (copy / manifest.name).write_bytes(good[:end])
        outcomes.append(written.outcome(copy))
    assert {"noticed", "complete"} == set(outcomes)
    assert outcomes[-1] == "complete"


def test_an_older_log_that_is_missing_is_noticed(tmp_path: Path, in_memory: Path) -> None:
    # Since at most six buffers wait, a flush that comes late leaves three logs of so many writes, too.
    written = Written(tmp_path, writes=520, merged=5)
    logs = sorted(written.path.glob("*.log"))
    assert len(logs) > 2
    for log in logs[:-1]:
        for content in (None, b""):
            copy = _fresh(written, in_memory)
            (copy / log.name).unlink()
            if content is not None:
                (copy / log.name).touch()
            assert written.outcome(copy) == "noticed"


@pytest.mark.parametrize("pattern", ["MANIFEST-*", "*.log"])
@pytest.mark.parametrize("kind", [5, 6, 7, 8, 11])
def test_a_record_of_a_recycled_log_is_refused_before_rocksdb_goes_round_in_it(
    tmp_path: Path, pattern: str, kind: int
) -> None:
    path = tmp_path / "0.db"
    store = opened(path)
    for offset in range(3):
        store.write([(b"sa", b"1")], offset, AT)
    _copy_at_rest(path, tmp_path / "copy.db")
    store.close()
    [file] = (tmp_path / "copy.db").glob(pattern)
    content = bytearray(file.read_bytes())
    (second, _) = list(manifest_records(content))[1]
    content[second + 6] = kind
    file.write_bytes(content)
    for use in (opened, inspect_store):
        with pytest.raises(DamagedStateError, match="a type that Eddy never writes"):
            use(tmp_path / "copy.db")


def test_a_database_of_before_the_writes_had_numbers_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "0.db"
    store = opened(path)
    store._db.put(b"\x00offset", b"7")  # as an earlier version left it
    store.close()
    for offset in (8, 9):
        store = opened(path)
        store.write([(b"sa", b"1")], offset, AT)
        store.close()
    store = opened(path)
    assert (store.offset(), dict(store.items())) == (9, {b"sa": b"1"})
    store.close()


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[PartitionStores]:
    stores = PartitionStores(tmp_path / "sessions", OPTIONS)
    yield stores
    stores.close_all()


def with_content(stores: PartitionStores, partition: int = 0) -> Path:
    stores[partition].write([(b"sa", b"1")], 7, AT)
    stores[partition].bind("the changelog")
    path = stores[partition].path
    stores.close_all()
    return path


def remove_manifest(path: Path) -> None:
    next(path.glob("MANIFEST-*")).unlink()


def put_a_file_in_its_place(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("what is this?")


def put_a_file_in_the_place_of_all(path: Path) -> None:
    shutil.rmtree(path.parent)
    path.parent.write_text("what is this?")


def put_a_directory_in_the_place_of_a_file(path: Path) -> None:
    (path / "CURRENT").unlink()
    (path / "CURRENT").mkdir()


def put_a_directory_in_the_place_of_the_bindings_own(path: Path) -> None:
    (path / "rocksdict-config.json").unlink()
    (path / "rocksdict-config.json").mkdir()


@pytest.mark.parametrize(
    "damage",
    [
        remove_manifest,
        put_a_file_in_its_place,
        put_a_file_in_the_place_of_all,
        put_a_directory_in_the_place_of_a_file,
        put_a_directory_in_the_place_of_the_bindings_own,
    ],
)
def test_damage_is_set_aside_once_and_said_once(
    stores: PartitionStores,
    damage: Callable[[Path], None],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    damage(with_content(stores))
    with pytest.raises(DamagedStateError, match="there is nothing to do"):
        stores[0]
    assert (stores.to_restore(0).offset(), list(stores[0].items())) == (None, [])
    stores[0].write([(b"sa", b"2")], 9, AT)
    stores.close_all()
    assert stores.to_restore(0).offset() == 9
    [line] = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    [kept] = (tmp_path / SET_ASIDE).iterdir()
    for words in (
        str(tmp_path / "sessions" / "0.db"),
        str(kept),
        "restored from the changelog",
        "nothing to do",
    ):
        assert words in line


def test_of_what_is_set_aside_one_is_kept_and_each_is_counted(tmp_path: Path) -> None:
    counted: list[None] = []
    stores = PartitionStores(tmp_path / "sessions", OPTIONS, lambda: counted.append(None))
    for partition in (0, 1):
        remove_manifest(with_content(stores, partition))
        stores.to_restore(partition)
    stores.close_all()
    assert [kept.name for kept in (tmp_path / SET_ASIDE).iterdir()] == ["sessions-1.db"]
    assert len(counted) == 2


def test_a_database_that_is_damaged_again_at_once_is_the_disks_fault(stores: PartitionStores) -> None:
    for _ in range(2):
        remove_manifest(with_content(stores))
        if _ == 0:
            stores.to_restore(0)
            stores.close_all()
    with pytest.raises(StateError, match="Check the disk and the memory") as refused:
        stores.to_restore(0)
    assert not isinstance(refused.value, DamagedStateError)


def test_damage_found_in_use_is_set_aside_with_the_next_restore_and_nothing_is_written_before(
    stores: PartitionStores, tmp_path: Path
) -> None:
    for tens in range(100):
        stores[0].write([(b"%04d" % (10 * tens + one), os.urandom(100)) for one in range(10)], tens, AT)
    stores[0].bind("the changelog")
    stores.close_all()
    assert stores[0].offset() == 99
    for file in stores[0].path.glob("*.sst"):
        with file.open("r+b") as content:
            content.seek(file.stat().st_size // 4)
            content.write(b"\xff" * (file.stat().st_size // 4))
    with pytest.raises(DamagedStateError):
        stores[0].get_many([b"%04d" % number for number in range(1000)])
    with pytest.raises(DamagedStateError):
        stores[0].write([(b"sa", b"1")], 100, AT)
    assert (stores.to_restore(0).offset(), stores[0].changelog()) == (None, "the changelog")
    assert [kept.name for kept in (tmp_path / SET_ASIDE).iterdir()] == ["sessions-0.db"]


def test_a_right_that_is_missing_is_no_damage(stores: PartitionStores) -> None:
    path = with_content(stores)
    if os.getuid() == 0:
        pytest.skip("root may do everything")
    (path / "CURRENT").chmod(0)
    with pytest.raises(StateError) as refused:
        stores.to_restore(0)
    assert not isinstance(refused.value, DamagedStateError)
