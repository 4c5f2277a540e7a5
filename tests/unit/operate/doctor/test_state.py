"""The state directory, looked at while nobody, or somebody else, has it open."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rocksdict import Cache

from streams.operate.doctor.check import CheckStatus
from streams.operate.doctor.state import database_checks, databases, directory_check, set_aside_checks
from streams.worker.settings_ledger import SettingsLedger
from streams.worker.state.changelog import SETTINGS_KEY
from streams.worker.state.origin import SOURCES_KEY, encode_sources
from streams.worker.state.store import FORMAT, PartitionStore, StoreInspection, StoreOptions

OPTIONS = StoreOptions()
WRITTEN_MS = 1_700_000_000_500
LOOKER = """
import sys
from pathlib import Path
from streams.operate.doctor.state import holder
from streams.worker.state.store import inspect_store
path = Path(sys.argv[1])
print(inspect_store(path).offset, holder(path / "LOCK"))
"""


def opened(path: Path) -> PartitionStore:
    return PartitionStore(path, OPTIONS.to_options(Cache(1 << 20)), OPTIONS.stretch_bytes)


def contents(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(file.relative_to(directory)): (file.stat().st_mtime_ns, file.stat().st_ino, file.read_bytes())
        for file in directory.rglob("*")
        if file.is_file()
    }


@pytest.fixture
def state(tmp_path: Path) -> Path:
    for table, partition in (("sessions", 0), ("sessions", 11), ("aggregates", 2)):
        store = opened(tmp_path / table / f"{partition}.db")
        store.write([(b"sa", b"{}")], 40 + partition, WRITTEN_MS)
        store.close()
    return tmp_path


def test_a_look_tells_how_far_a_database_is_and_changes_nothing(state):
    before = contents(state)
    found = {(each.table, each.partition): each for each in databases(state)}
    assert {place: each.found.offset for place, each in found.items()} == {
        ("sessions", 0): 40,
        ("sessions", 11): 51,
        ("aggregates", 2): 42,
    }
    assert {each.found.format for each in found.values()} == {FORMAT}
    assert {each.found.written_at for each in found.values()} == {WRITTEN_MS / 1000}
    assert {each.held_by for each in found.values()} == {None}
    assert contents(state) == before
    [check] = database_checks(list(found.values()))
    assert (check.status, check.said.split(",")[0]) == (CheckStatus.OK, "3 of 3 databases can be read")


def test_a_database_that_is_open_is_read_and_its_owner_named(state):
    # A process is not told of its own locks, so another one looks.
    store = opened(state / "sessions" / "0.db")
    store.write([(b"sb", b"{}")], 77, WRITTEN_MS)
    seen = subprocess.run(
        [sys.executable, "-c", LOOKER, str(store.path)], check=True, capture_output=True, text=True
    )
    assert seen.stdout == f"77 {os.getpid()}\n"
    store.close()


def test_a_damaged_database_is_told_and_goes_by_itself(state):
    (state / "sessions" / "0.db" / "CURRENT").write_bytes(b"nonsense")
    shutil.rmtree(state / "aggregates" / "2.db")
    (state / "aggregates" / "2.db").touch()
    damaged = [check for check in database_checks(databases(state)) if check.status is CheckStatus.WARN]
    assert [check.said.split(" ")[0] for check in damaged] == [
        str(state / "sessions" / "0.db"),
        str(state / "aggregates" / "2.db"),
    ]
    assert all("sets it aside" in check.advice for check in damaged)


def test_what_was_set_aside_is_told_with_its_size_and_that_it_may_go(state):
    assert list(set_aside_checks(state)) == []
    shutil.copytree(state / "sessions" / "0.db", state / "set-aside" / "sessions-0.db")
    [check] = set_aside_checks(state)
    assert check.status is CheckStatus.WARN
    assert str(state / "set-aside" / "sessions-0.db") in check.said
    assert "Delete it" in check.advice


def test_a_newer_format_is_a_failure_and_an_older_one_goes_by_itself(state):
    [first, *_] = databases(state)
    for version, status in ((b"9", CheckStatus.FAIL), (b"1", CheckStatus.WARN)):
        other = first._replace(found=StoreInspection(version, 1, 0.0))
        assert next(database_checks([other])).status is status


def test_no_state_is_no_problem(tmp_path):
    assert databases(tmp_path / "none") == []
    assert [check.status for check in database_checks([])] == [CheckStatus.OK]
    assert not (tmp_path / "none").exists()


def test_a_directory_that_is_to_come_is_fine_and_is_not_made(tmp_path):
    found = directory_check(tmp_path / "a" / "b")
    assert found.status is CheckStatus.OK
    assert "will be created" in found.said
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_directory_is_a_failure(tmp_path):
    (tmp_path / "file").touch()
    assert directory_check(tmp_path / "file" / "eddy").status is CheckStatus.FAIL


@pytest.mark.parametrize(
    ("free", "status"),
    [(1 << 20, CheckStatus.FAIL), (500 << 20, CheckStatus.WARN), (2 << 30, CheckStatus.OK)],
)
def test_a_disk_that_gets_full_is_told_before_it_is(tmp_path, monkeypatch, free, status):
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert directory_check(tmp_path).status is status


def test_a_database_tells_which_topics_it_was_built_from(tmp_path: Path) -> None:
    ledger = SettingsLedger(source="id-of-decisions").encode()
    sources = {"decision-logs": "id-of-decisions", "eddy-repartition": "id-of-contributions"}
    for table, key, value in (
        ("sessions", SETTINGS_KEY, ledger),
        ("aggregates", SOURCES_KEY, encode_sources(sources)),
    ):
        store = opened(tmp_path / table / "0.db")
        store.write([(key, value)], 40, WRITTEN_MS)
        store.close()
    assert {each.table: each.sources for each in databases(tmp_path)} == {
        "sessions": {"decision-logs": "id-of-decisions"},
        "aggregates": sources,
    }


def test_a_ledger_that_a_newer_version_wrote_fails_as_a_worker_would(tmp_path: Path) -> None:
    store = opened(tmp_path / "sessions" / "0.db")
    store.write([(SETTINGS_KEY, b"[99]")], 40, WRITTEN_MS)
    store.close()
    [check] = database_checks(databases(tmp_path))
    assert check.status is CheckStatus.FAIL
    assert "Start the newer version again" in check.said
