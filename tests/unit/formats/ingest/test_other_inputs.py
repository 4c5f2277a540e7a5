"""Documents that change, folders of parts, packed files, and which records a destination has."""

import gzip
import os
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

from streams.formats import units
from streams.formats.content import Content
from streams.formats.ingest import tail
from tests.unit.formats.ingest.following import LOG, SAMPLES, World

DOCUMENTS = [
    path
    for folder in ("openai_chat", "anthropic_messages", "atif", "mini_swe_agent", "mlflow", "langsmith")
    for path in sorted((SAMPLES / folder).iterdir())
    if ".expected." not in path.name
]


def expected(path: Path) -> list[Any]:
    rows = path.with_name(f"{path.name.split('.')[0]}.expected.jsonl")
    return [orjson.loads(line) for line in rows.read_bytes().splitlines()]


@pytest.fixture
def world(tmp_path: Path) -> World:
    (folder := tmp_path / "logs").mkdir()
    return World(folder)


@pytest.mark.parametrize("sample", DOCUMENTS, ids=lambda path: f"{path.parent.name}-{path.name}")
async def test_a_document_that_is_read_again_gives_its_records_once(world: World, sample: Path) -> None:
    document = world.folder / sample.name
    data = (world.folder / shutil.copy(sample, world.folder)).read_bytes()
    assert await world.follow(lambda: document.write_bytes(data + b"\n")) == expected(sample)
    assert await world.follow() == []
    assert not world.account.has_problems


async def test_a_list_that_grows_gives_the_calls_that_are_new(world: World) -> None:
    sample = SAMPLES / "openai_chat" / "loop.json"
    whole = orjson.loads(sample.read_bytes())
    messages = whole["messages"] if isinstance(whole, dict) else whole
    document = world.folder / "loop.json"

    def write(many: int) -> None:
        part = messages[:many]
        document.write_bytes(orjson.dumps({**whole, "messages": part} if isinstance(whole, dict) else part))

    write(4)
    await world.follow(*[lambda many=many: write(many) for many in range(5, len(messages) + 1)])  # type: ignore[misc]
    found = [each["event_id"] for each in world.sink.records]
    assert found == [each["event_id"] for each in expected(sample)]


async def test_a_document_that_is_caught_half_written_is_no_problem_once_it_is_whole(world: World) -> None:
    sample = SAMPLES / "atif" / "claude-loop.json"
    document = world.folder / sample.name
    data = sample.read_bytes()
    document.write_bytes(data[: len(data) // 2])
    assert await world.follow(lambda: document.write_bytes(data)) == expected(sample)
    assert not world.account.has_problems


async def test_a_packed_log_is_read_whole_each_time(world: World) -> None:
    (world.folder / "a.jsonl.gz").write_bytes(gzip.compress(LOG.read_bytes()))
    assert await world.once() == expected(LOG)
    assert await world.once() == []


async def test_a_packed_file_that_is_damaged_is_reported(world: World) -> None:
    (world.folder / "a.jsonl.gz").write_bytes(gzip.compress(LOG.read_bytes())[:-20])
    assert await world.once() == []
    assert list(world.account.unreadable) == [str(world.folder / "a.jsonl.gz")]


@pytest.mark.parametrize("restart", [False, True])
async def test_files_that_are_one_input_together_are_read_as_they_come(world: World, restart: bool) -> None:
    sample = SAMPLES / "openhands" / "loop.jsonl"
    lines = sample.read_bytes().splitlines()
    events = world.folder / "conversation" / "events"
    events.mkdir(parents=True)

    def write(number: int, data: bytes) -> None:
        (events / f"event-{number:05}-x.json").write_bytes(data)

    write(0, lines[0])
    if restart:
        for number, line in enumerate(lines):
            write(number, line[: len(line) // 2])
            await world.follow()
            write(number, line)
            await world.follow()
    else:
        steps = [
            lambda number=number, data=data: write(number, data)
            for number, line in enumerate(lines)
            for data in (line[:20], line)
        ]
        await world.follow(*steps)  # type: ignore[arg-type]
    found = [{**each, "session_id": ""} for each in world.sink.records]
    assert [each["event_id"] for each in found] == [each["event_id"] for each in expected(sample)]
    assert not world.account.has_problems


async def test_an_id_that_comes_twice_in_one_file_is_two_records(world: World) -> None:
    log = world.folder / "a.jsonl"
    data = LOG.read_bytes()
    # The same calls again, in other lines: this is what the agent did.
    log.write_bytes(data + data.replace(b'"uuid":"', b'"uuid":"2-'))
    found = await world.once()
    assert len(found) > len(expected(LOG))
    assert await world.once() == []
    other = world.folder.parent / "other"
    other.write_bytes(log.read_bytes())
    other.replace(log)
    assert await world.once() == []


async def test_what_fits_no_format_is_left_out_until_it_does(world: World) -> None:
    log = world.folder / "a.txt"
    log.write_bytes(b"hello\n")
    steps = [lambda: None] * 4 + [lambda: log.write_bytes(LOG.read_bytes())] + [lambda: None] * 4
    assert await world.follow(*steps) == expected(LOG)
    assert not world.account.unknown


async def test_only_what_may_leave_is_given_to_the_sink(world: World) -> None:
    (world.folder / "a.jsonl").write_bytes(LOG.read_bytes())
    world.content = Content.HASH
    found = await world.once()
    assert [each["event_id"] for each in found] == [each["event_id"] for each in expected(LOG)]
    assert b"settings.toml" not in orjson.dumps(found)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
async def test_decision_logs_are_carried_on_as_they_are(world: World, name: str) -> None:
    rows = LOG.with_name("loop.expected.jsonl").read_bytes()
    (world.folder / name).write_bytes(rows + b"[]\n")
    assert await world.once() == expected(LOG)
    assert world.account.sources["jsonl"].all_problems == {"unreadable": 1}


async def test_records_that_the_job_would_reject_are_problems_and_are_not_passed_on(world: World) -> None:
    log = {"session_id": "s", "event_id": "e", "level": "info"}
    (world.folder / "app.jsonl").write_bytes(orjson.dumps(log) + b"\n")
    assert await world.follow() == []
    assert world.account.has_problems


async def test_a_log_is_read_under_a_name_that_is_not_utf_8_and_beside_links_in_a_circle(
    world: World,
) -> None:
    folder = world.folder / os.fsdecode(b"\xff\xfe")
    folder.mkdir()
    shutil.copy(LOG, folder / os.fsdecode(b"log\xff.jsonl"))
    (world.folder / "a").symlink_to("b")
    (world.folder / "b").symlink_to("a")
    (world.folder / "self").symlink_to(".")
    assert len(await world.follow()) == len(LOG.with_name("loop.expected.jsonl").read_bytes().splitlines())


async def test_a_packed_log_is_read_to_its_end_however_long_it_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(units, "LONGEST_DOCUMENT", 1_000)
    monkeypatch.setattr(units, "LONGEST_UNIT", 50_000)
    data = LOG.read_bytes() + b"x" * 120_000 + b"\n" + LOG.read_bytes().replace(b'"uuid":"', b'"uuid":"2-')
    (world.folder / "a.jsonl.gz").write_bytes(gzip.compress(data))
    found = await world.once()
    assert found[: len(expected(LOG))] == expected(LOG)
    assert len(found) > len(expected(LOG))
    assert world.account.sources["claude-code"].all_problems == {"unreadable": 1}


async def test_a_last_line_longer_than_is_read_is_a_problem(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "LONGEST_UNIT", 50_000)
    (world.folder / "a.jsonl").write_bytes(LOG.read_bytes() + b"x" * 60_000)
    assert await world.once() == expected(LOG)
    assert world.account.sources["claude-code"].all_problems == {"unreadable": 1}


async def test_a_pipe_is_not_waited_for_and_the_log_beside_it_is_read(world: World) -> None:
    pipe = world.folder / "pipe.jsonl"
    os.mkfifo(pipe)
    log = world.folder / "a.jsonl"
    log.write_bytes(LOG.read_bytes())
    assert await world.once(pipe, log) == expected(LOG)
    assert "eddy ingest - <" in world.account.unreadable[str(pipe)]
