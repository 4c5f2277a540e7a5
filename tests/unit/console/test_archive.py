"""The archive: rows and marks together, damage set aside, age, search, and one console at a time."""

import logging
import sqlite3
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from streams.console.archive.archive import Archive, ArchiveDamagedError, WritePoint, going_on
from streams.console.archive.file import version
from streams.console.archive.row_store import recall, restored
from streams.console.read_model.ledger import table_of
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import ActionRow, Row, SessionRow, WatermarkRow
from streams.console.read_model.tables import ACTION, EPISODE, FINDING, SESSION, TABLES, WATERMARK
from streams.core.errors import ConfigurationError, InfrastructureError
from tests.unit.console.told import everything, folded

ROWS = tuple(folded(everything()).rows())
DAY_MS = 86_400_000


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    made = Archive(tmp_path / "archive")
    yield made
    made.close()


def save(archive: Archive, rows: Iterator[Row] | tuple[Row, ...], *marks: WatermarkRow) -> None:
    archive.save([(table_of(row), row) for row in rows], marks).result()


def every_row(archive: Archive) -> set[Row]:
    return {row for table in TABLES for row in archive.rows(table)}


def test_every_kind_of_row_comes_back_as_it_was(archive: Archive) -> None:
    mark = WatermarkRow("session-alerts", 3, "id", 70, 12)
    save(archive, ROWS, mark)
    assert every_row(archive) == {*ROWS, mark}
    assert {type(row) for row in every_row(archive)} == {table.row for table in TABLES}


def test_a_row_is_written_over_the_one_with_its_key(archive: Archive) -> None:
    row = next(row for row in ROWS if isinstance(row, SessionRow))
    save(archive, (row,))
    save(archive, (row._replace(records=row.records + 1),))
    assert archive.rows(SESSION) == [row._replace(records=row.records + 1)]


def test_rows_and_marks_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(point: WritePoint) -> None:
        if point is WritePoint.MARKS_WRITTEN:
            raise StoppedError

    archive = Archive(tmp_path, stop)
    with pytest.raises(StoppedError):
        save(archive, ROWS, WatermarkRow("t", 0, "", 1, 0))
    assert every_row(archive) == set()
    archive.close()


def test_the_archive_is_its_owners_alone(tmp_path: Path) -> None:
    Archive(tmp_path / "archive").close()
    assert stat.S_IMODE((tmp_path / "archive").stat().st_mode) == 0o700
    for path in (tmp_path / "archive").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_two_consoles_do_not_share_an_archive(tmp_path: Path) -> None:
    first = Archive(tmp_path)
    with pytest.raises(ConfigurationError, match="Another console uses"):
        Archive(tmp_path)
    first.close()
    Archive(tmp_path).close()


def test_an_archive_of_another_version_is_built_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    archive = Archive(tmp_path)
    save(archive, ROWS)
    archive.close()
    with sqlite3.connect(tmp_path / "archive.sqlite3") as connection:
        connection.execute(f"PRAGMA user_version={version() + 1}")
    connection.close()
    with caplog.at_level(logging.INFO):
        archive = Archive(tmp_path)
    assert "is of another version of Eddy. It is built again." in caplog.text
    assert every_row(archive) == set()
    archive.close()


@pytest.mark.parametrize("content", [b"no database at all" * 1_000, b"SQLite format 3\0" + b"\xff" * 9_000])
def test_a_damaged_file_is_set_aside_and_built_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    (tmp_path / "archive.sqlite3").write_bytes(content)
    archive = Archive(tmp_path)
    assert "is damaged" in caplog.text
    assert "there is nothing to do" in caplog.text
    assert (tmp_path / "archive.sqlite3.damaged").read_bytes() == content
    save(archive, ROWS)
    assert every_row(archive) == set(ROWS)
    archive.close()


def test_a_file_that_cannot_be_written_now_is_left_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = Archive(tmp_path)
    save(archive, ROWS)
    archive.close()
    holder = sqlite3.connect(tmp_path / "archive.sqlite3", isolation_level=None)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    connect = partial(sqlite3.connect, timeout=0)
    monkeypatch.setattr("streams.console.archive.file.sqlite3.connect", connect)
    with pytest.raises(InfrastructureError, match="has space and can be written"):
        Archive(tmp_path)
    monkeypatch.undo()
    holder.close()
    assert not (tmp_path / "archive.sqlite3.damaged").exists()
    archive = Archive(tmp_path)
    assert every_row(archive) == set(ROWS)
    archive.close()


def test_a_file_that_is_damaged_later_is_noticed_where_it_is_read_and_can_be_built_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    archive = Archive(tmp_path)
    save(archive, ROWS)
    [page] = archive._own.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'session'").fetchone()
    [size] = archive._own.execute("PRAGMA page_size").fetchone()
    archive.close()
    with (tmp_path / "archive.sqlite3").open("r+b") as opened:
        opened.seek((page - 1) * size)
        opened.write(b"\xff" * size)
    archive = Archive(tmp_path)
    with pytest.raises(ArchiveDamagedError):
        every_row(archive)
    archive.rebuild(ArchiveDamagedError("it is full of ones"))
    assert "is damaged (it is full of ones)" in caplog.text
    save(archive, ROWS)
    assert every_row(archive) == set(ROWS)
    archive.close()


def test_rows_older_than_history_are_removed_and_the_others_stay(archive: Archive) -> None:
    row = next(row for row in ROWS if isinstance(row, ActionRow))
    now = 1_000 * DAY_MS
    kept = [row._replace(id=f"a-{age}", at=now - age * DAY_MS) for age in (0, 89)]
    save(archive, (*kept, row._replace(id="old", at=now - 91 * DAY_MS)))
    sessions = [row for row in ROWS if isinstance(row, SessionRow)][:2]
    young = sessions[0]._replace(last_ts=now - 6 * DAY_MS)
    save(archive, (young, sessions[1]._replace(last_ts=now - 8 * DAY_MS)))
    while archive.remove_old(now, history_days=7).result():
        pass
    assert archive.rows(ACTION, "ORDER BY id") == kept
    assert archive.rows(SESSION) == [young]


async def test_search_by_the_beginning_takes_text_as_text(archive: Archive) -> None:
    row = next(row for row in ROWS if isinstance(row, SessionRow))
    names = ["a", "a%", "a%b", "a_b", "ab", "a\U0010fffe", "b", "A", "ä"]
    save(archive, tuple(row._replace(session_id=name) for name in names))

    async def found(prefix: str, limit: int = 100) -> list[str]:
        rows = await archive.starting_with(SESSION, "session_id", prefix, limit)
        return [row.session_id for row in rows if isinstance(row, SessionRow)]

    assert await found("a%") == ["a%", "a%b"]
    assert await found("a") == ["a", "a%", "a%b", "a_b", "ab", "a\U0010fffe"]
    assert await found("a", limit=2) == ["a", "a%"]
    assert await found("'; DROP TABLE session; --") == []
    assert len(await found("")) == len(names)


async def test_readers_cannot_write(archive: Archive) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        archive._own.execute("DELETE FROM session")


def test_what_is_dropped_takes_its_marks_along(archive: Archive) -> None:
    save(archive, ROWS, WatermarkRow("gone", 0, "", 5, 0), WatermarkRow("stays", 0, "", 5, 0))
    archive.drop([SESSION, EPISODE, FINDING], ["gone"]).result()
    assert [row[0] for row in archive.rows(WATERMARK)] == ["stays"]
    assert not [*archive.rows(SESSION), *archive.rows(EPISODE), *archive.rows(FINDING)]
    assert len(archive.rows(ACTION)) == sum(isinstance(row, ActionRow) for row in ROWS)


def test_a_console_begins_with_what_is_alive_or_needs_somebody_and_remembers_the_rest(
    archive: Archive,
) -> None:
    save(archive, ROWS)
    sessions = {row.session_id: row for row in ROWS if isinstance(row, SessionRow)}
    newest = max(row.last_ts or 0 for row in sessions.values())
    model = ReadModel(recall=recall(archive))
    for rows in restored(archive, newest, live_minutes=15, live_max=1_000):
        model.restore(rows)
    needed = set(folded(everything()).attention(newest))
    assert needed <= model.cases.keys()
    for session_id in sessions:
        model.case(session_id)
    assert set(model.rows()) >= {row for row in ROWS if getattr(row, "session_id", None) in sessions}


def test_nothing_that_is_asked_for_is_lost_when_the_archive_is_closed(tmp_path: Path) -> None:
    archive = Archive(tmp_path, going_on)
    written = [archive.save([(table_of(row), row)], []) for row in ROWS]
    archive.close()
    assert all(future.result() == 1 for future in written)
