"""Logs that grow, are rotated, cut, rewritten, and read by processes that end at any time."""

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from streams.core.errors import InfrastructureError
from streams.formats.ingest import tail
from tests.unit.formats.ingest.following import LOG, Kept, World

DATA = LOG.read_bytes()
LINES = DATA.splitlines(keepends=True)
EXPECTED = [orjson.loads(line) for line in LOG.with_name("loop.expected.jsonl").read_bytes().splitlines()]
IDS = [each["event_id"] for each in EXPECTED]


def ids(records: list[Any]) -> list[str]:
    return [each["event_id"] for each in records]


@pytest.fixture
def world(tmp_path: Path) -> World:
    (folder := tmp_path / "logs").mkdir()
    return World(folder)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.parametrize("cut", range(0, len(DATA), 211))
async def test_a_log_cut_anywhere_and_followed_gives_the_same_records_once(world: World, cut: int) -> None:
    log = world.folder / "a.jsonl"
    log.write_bytes(DATA[:cut])
    assert await world.follow(lambda: append(log, DATA[cut:])) == EXPECTED
    assert not world.account.has_problems


async def test_a_log_that_grows_byte_by_byte_gives_the_same_records_once(world: World) -> None:
    log = world.folder / "a.jsonl"
    log.write_bytes(b"")
    size = len(DATA) // 400
    parts = [DATA[at : at + size] for at in range(0, len(DATA), size)]
    assert await world.follow(*[lambda part=part: append(log, part) for part in parts]) == EXPECTED  # type: ignore[misc]


@pytest.mark.parametrize("line", range(len(LINES) + 1))
async def test_a_process_that_starts_again_continues_where_the_other_one_ended(
    world: World, line: int
) -> None:
    log = world.folder / "a.jsonl"
    log.write_bytes(b"".join(LINES[:line]))
    first = await world.follow()
    append(log, b"".join(LINES[line:]))
    second = await world.follow()
    assert first + second == EXPECTED


@pytest.mark.parametrize("kept", ["before", "after"])
@pytest.mark.parametrize("batch", range(1, 8))
async def test_a_process_that_ends_around_a_send_repeats_records_under_their_ids_and_loses_none(
    world: World, batch: int, kept: str
) -> None:
    log = world.folder / "a.jsonl"

    def dies(number: int) -> str | None:
        if number == batch:
            raise KeyboardInterrupt
        return None

    world.sink = Kept(refuse=dies)
    done = 0
    for line in LINES:
        append(log, line)
        try:
            await world.follow()
        except KeyboardInterrupt:
            done += 1
            if kept == "after":  # it was sent, and not remembered
                world.sink.records.append(EXPECTED[batch - 1])
    await world.follow()
    assert done == 1
    found = ids(world.sink.records)
    assert list(dict.fromkeys(found)) == IDS
    assert len(found) == len(IDS) + (1 if kept == "after" else 0)


@pytest.mark.parametrize("line", range(1, len(LINES)))
async def test_a_log_that_is_rotated_while_it_is_followed_loses_nothing(world: World, line: int) -> None:
    log = world.folder.parent / "a.jsonl"

    def rotate() -> None:
        append(log, LINES[line])
        log.rename(log.with_suffix(".1"))
        log.write_bytes(b"".join(LINES[line + 1 :]))

    log.write_bytes(b"".join(LINES[:line]))
    assert await world.follow(rotate, paths=[log]) == EXPECTED


@pytest.mark.parametrize("line", range(1, len(LINES)))
@pytest.mark.parametrize("watch", ["the file", "the folder"])
async def test_a_log_that_is_rotated_while_no_process_runs_loses_nothing(
    world: World, line: int, watch: str
) -> None:
    log = world.folder / "a.jsonl"
    paths = [log] if watch == "the file" else [world.folder]
    log.write_bytes(b"".join(LINES[:line]))
    first = await world.follow(paths=paths)
    append(log, LINES[line])
    log.rename(log.with_suffix(".1"))
    log.write_bytes(b"".join(LINES[line + 1 :]))
    assert first + await world.follow(paths=paths) == EXPECTED


async def test_a_line_that_comes_to_a_log_after_it_was_rotated_is_read(world: World) -> None:
    log = world.folder / "a.jsonl"
    log.write_bytes(b"".join(LINES[:-1]))

    def rotate() -> None:
        log.rename(log.with_suffix(".1"))
        log.write_bytes(b"")

    found = await world.follow(rotate, lambda: append(log.with_suffix(".1"), LINES[-1]), paths=[log])
    assert found == EXPECTED


@pytest.mark.parametrize("line", range(1, len(LINES)))
async def test_a_log_that_is_copied_and_cut_goes_on_with_its_sessions(world: World, line: int) -> None:
    log = world.folder / "a.jsonl"
    log.write_bytes(b"".join(LINES[:line]))
    found = await world.follow(lambda: log.write_bytes(b""), lambda: append(log, b"".join(LINES[line:])))
    assert found == EXPECTED


async def test_a_log_that_is_written_again_gives_only_what_is_new(world: World) -> None:
    log = world.folder / "a.jsonl"
    log.write_bytes(b"".join(LINES[:8]))

    def write_again() -> None:
        other = world.folder.parent / "other"
        other.write_bytes(DATA)
        other.replace(log)

    found = await world.follow(write_again)
    assert ids(found) == IDS


async def test_an_inode_that_is_used_again_is_another_file(world: World) -> None:
    log = world.folder / "a.jsonl"
    log.write_bytes(DATA)
    await world.follow()
    inode = log.stat().st_ino
    with log.open("r+b") as file:  # what stands in its place by now, and is longer
        file.write(DATA.replace(b"-4", b"-5") + b"\n")
    assert log.stat().st_ino == inode
    found = await world.follow()
    assert ids(found)[:-1] == IDS[:-1]  # the last one is the id of a line
    assert {each["session_id"] for each in found} == {EXPECTED[0]["session_id"].replace("-4", "-5")}


async def test_reading_stops_while_brokers_are_away_and_continues_in_order(world: World) -> None:
    log = world.folder / "a.jsonl"
    log.write_bytes(b"".join(LINES[:6]))
    world.sink = Kept(refuse=lambda number: "before" if 1 <= number <= 4 else None)
    found = await world.follow(lambda: append(log, b"".join(LINES[6:])))
    assert found == EXPECTED
    assert len(world.notices) == 4
    assert "away" in world.notices[0]


async def test_what_is_not_followed_ends_if_brokers_are_away(world: World) -> None:
    (world.folder / "a.jsonl").write_bytes(DATA)
    world.sink = Kept(refuse=lambda number: "before" if number == 1 else None)
    with pytest.raises(InfrastructureError):
        await world.once()
    assert await world.once() == EXPECTED
    assert await world.once() == []


async def test_a_file_that_comes_later_is_found(world: World) -> None:
    log = world.folder / "deep" / "b.jsonl"
    log.parent.mkdir()
    assert await world.follow(*[lambda: None] * 7, lambda: log.write_bytes(DATA)) == EXPECTED


async def test_a_second_name_of_a_log_adds_nothing(world: World) -> None:
    log = world.folder / "a.jsonl"
    log.write_bytes(DATA)
    os.link(log, world.folder / "b.jsonl")
    (world.folder / "c.jsonl").symlink_to(log)
    assert await world.follow() == EXPECTED


async def test_a_copy_of_a_log_adds_nothing(world: World) -> None:
    (world.folder / "a.jsonl").write_bytes(DATA)
    (world.folder / "b.jsonl").write_bytes(DATA)
    assert await world.once() == EXPECTED
    assert world.account.sources["claude-code"].repeated == len(EXPECTED)


async def test_a_last_line_without_its_end_counts_if_it_is_whole_and_once(world: World) -> None:
    log = world.folder / "a.jsonl"
    log.write_bytes(DATA.rstrip(b"\n"))
    assert await world.once() == EXPECTED
    append(log, b"\n")
    assert await world.once() == []
    log.write_bytes(DATA.rstrip(b"\n")[:-3])
    await world.once()
    assert not world.account.has_problems


async def test_a_line_that_is_too_long_is_passed_over_and_reported(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "LONGEST_UNIT", 100_000)
    monkeypatch.setattr(tail, "_BLOCK", 4096)
    log = world.folder / "a.jsonl"
    log.write_bytes(LINES[0] + b"x" * 200_000)
    found = await world.follow(lambda: append(log, b"y" * 200_000 + b"\n" + b"".join(LINES[1:])))
    assert found == EXPECTED
    assert world.account.sources["claude-code"].all_problems == {"unreadable": 1}


async def test_records_from_before_a_time_are_left_out_also_by_the_next_process(world: World) -> None:
    log = world.folder / "a.jsonl"
    log.write_bytes(DATA)
    world.since = EXPECTED[3]["meta"]["timestamp"]
    assert await world.follow() == EXPECTED[3:]
    world.since = 0
    assert await world.follow() == []
