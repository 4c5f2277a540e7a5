"""Reading logs of other programs: files, folders, pipes, and what is left out."""

import gzip
import io
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import cramjam
import orjson
import pytest

from streams.cli.text.intake_report import intake_lines
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import LONGEST_UNIT
from streams.formats.adapters.mapped import mapped_format
from streams.formats.format_detection import FormatDetection
from streams.formats.intake import MOST_NAMED, Intake
from streams.formats.reading import entries
from streams.formats.registry import BY_NAME
from streams.formats.sources import known_places

SAMPLES = Path(__file__).parents[2] / "samples"
CLAUDE = SAMPLES / "claude_code" / "loop.jsonl"
RECORDINGS = Path(__file__).parents[3] / "streams" / "formats" / "recordings"


def samples() -> Iterator[Path]:
    for folder in sorted(SAMPLES.iterdir()):
        form = BY_NAME.get(folder.name.replace("_", "-"))
        if form is not None:
            yield from (path for path in sorted(folder.iterdir()) if ".expected." not in path.name)


def expected(path: Path) -> list[object] | None:
    rows = path.with_name(f"{path.name.split('.')[0]}.expected.jsonl")
    return [orjson.loads(line) for line in rows.read_bytes().splitlines()] if rows.exists() else None


def read(*paths: Path | str, intake: Intake | None = None) -> list[object]:
    return [entry.value for entry in entries([str(path) for path in paths], intake=intake)]


@pytest.mark.parametrize("path", list(samples()), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_sample_is_read_by_its_name_alone(path: Path) -> None:
    found = read(path)
    assert found
    assert expected(path) in (None, found)


def test_a_folder_is_read_file_by_file_in_the_order_of_paths(tmp_path: Path) -> None:
    for number, path in enumerate(each for each in samples() if each.parent.name in ("claude_code", "atif")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "README.md").write_text("once upon a time")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / ".hidden.jsonl").write_bytes(CLAUDE.read_bytes())
    intake = Intake()
    found = read(tmp_path, intake=intake)
    assert len(found) == 21
    assert {name: (share.files, share.records) for name, share in intake.shares.items()} == {
        "atif": (2, 14),
        "claude-code": (1, 7),
    }
    assert intake.named == [str(tmp_path / "README.md")]


def test_a_folder_in_which_nothing_fits_is_an_error_that_says_what_was_tried(tmp_path: Path) -> None:
    for number in range(MOST_NAMED + 2):
        (tmp_path / f"{number}.txt").write_text("once upon a time")
    with pytest.raises(
        ConfigurationError, match=r"0\.txt and 6 more files fits no format: tried avro, .*--format"
    ):
        read(tmp_path)


def test_a_folder_without_files_has_no_records(tmp_path: Path) -> None:
    assert read(tmp_path) == []


def test_a_damaged_file_of_a_folder_is_counted_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(CLAUDE.read_bytes())[:-200])
    shutil.copy(SAMPLES / "pi" / "loop.jsonl", tmp_path / "b.txt")
    (tmp_path / "c.jsonl").write_bytes((SAMPLES / "atif" / "claude-loop.expected.jsonl").read_bytes())
    intake = Intake()
    assert len(read(tmp_path, intake=intake)) >= 7
    [trouble] = intake.damaged.troubles.values()
    assert trouble.first.where == str(tmp_path / "a.jsonl.gz")
    with pytest.raises(ConfigurationError, match=r"a\.jsonl\.gz"):
        read(tmp_path / "a.jsonl.gz")


def test_lines_that_a_resumed_session_has_copied_into_its_file_count_once(tmp_path: Path) -> None:
    shutil.copy(CLAUDE, tmp_path / "a.jsonl")
    lines = [orjson.loads(line) for line in CLAUDE.read_bytes().splitlines()]
    resumed = [line | {"sessionId": "resumed"} for line in lines]
    (tmp_path / "b.jsonl").write_bytes(b"\n".join(map(orjson.dumps, resumed)))
    intake = Intake()
    assert len(read(tmp_path, intake=intake)) == 7
    assert intake.shares["claude-code"].ignored["record that another file has too"] == 7


def test_events_of_one_file_each_are_one_conversation(tmp_path: Path) -> None:
    folder = tmp_path / "conversation-1" / "events"
    folder.mkdir(parents=True)
    collected = (SAMPLES / "openhands" / "loop.jsonl").read_bytes().splitlines()
    for number, line in enumerate(collected):
        event = {key: value for key, value in orjson.loads(line).items() if key != "_session"}
        (folder / f"event-{number:05}-x.json").write_bytes(orjson.dumps(event))
    (tmp_path / "conversation-1" / "base_state.json").write_text('{"stats": {}}')
    found = read(tmp_path)
    assert [each["event_id"] for each in found] == [  # type: ignore[index]
        each["event_id"]
        for each in read(SAMPLES / "openhands" / "loop.jsonl")  # type: ignore[index]
    ]
    assert {each["session_id"] for each in found} == {"conversation-1"}  # type: ignore[index]


class Drip(io.RawIOBase):
    """A pipe that brings a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk, self._data = self._data[:100], self._data[100:]
        buffer[: len(chunk)] = chunk
        return len(chunk)


@pytest.mark.parametrize("path", [CLAUDE, SAMPLES / "atif" / "claude-loop.json"], ids=["lines", "document"])
def test_a_pipe_that_brings_its_first_line_in_parts_is_recognised(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    pipe = io.BufferedReader(Drip(path.read_bytes()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(pipe))
    assert len(read("-")) == 7


def test_a_line_longer_than_is_read_is_counted_and_the_next_one_is_read(tmp_path: Path) -> None:
    lines = CLAUDE.read_bytes().splitlines(keepends=True)
    path = tmp_path / "long.jsonl"
    path.write_bytes(b"".join([*lines[:4], b"x" * (LONGEST_UNIT + 100) + b"\n", *lines[4:]]))
    intake = Intake()
    assert len(read(path, intake=intake)) == 7
    [trouble] = intake.shares["claude-code"].troubles.values()
    assert (trouble.count, trouble.first.detail) == (1, "longer than is read")


def test_a_mapping_file_reads_any_table(tmp_path: Path) -> None:
    mapped = mapped_format(b'session_id = "run"\ntool = "tool"\nresult = "output"\n')
    path = tmp_path / "table.csv"
    path.write_text("run,tool,output\nr1,search,none\nr1,search,none\n")
    found = [entry.value for entry in entries([str(path)], FormatDetection(mapped=mapped))]
    assert [each["action"]["tool_call"] for each in found if each] == ["search", "search"]


def test_known_places_are_found_below_a_home_folder(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "-srv-app"
    folder.mkdir(parents=True)
    shutil.copy(CLAUDE, folder / "s.jsonl")
    places = {place.format.name: place for place in known_places(tmp_path)}
    assert places["claude-code"].files == [str(folder / "s.jsonl")]
    assert places["claude-code"].folder == "~/.claude/projects"
    assert all(not place.files for name, place in places.items() if name != "claude-code")


LINE = (
    b'{"type":"user","uuid":"u","sessionId":"s","timestamp":"2026-01-01T00:00:00Z",'
    b'"message":{"content":%s}}\n'
)
CALL = b'[{"type":"tool_use","id":"c1","name":"Read","input":{}}]'
ANSWER = b'[{"type":"tool_result","tool_use_id":"c1","content":"x"}]'


def log_of_one_call() -> bytes:
    called = LINE.replace(b'"user"', b'"assistant"').replace(b'"u"', b'"u1"') % CALL
    return called + LINE % ANSWER


@pytest.mark.parametrize(
    "begin",
    [
        b'{"type":"summary","summary":"a","leafUuid":"b"}\n' * 3_000,
        LINE % (b'"' + b"x" * 200_000 + b'"'),
    ],
    ids=["many lines that name no format", "a line longer than the head"],
)
def test_a_format_is_recognised_by_a_line_further_down(tmp_path: Path, begin: bytes) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(begin.replace(b'"u"', b'"u0"') + log_of_one_call())
    assert [each.value and each.value["event_id"] for each in entries([str(file)])] == ["c1"]


def test_utf_16_with_its_mark_is_read_as_powershell_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(log_of_one_call().replace(b'"x"', '"ü \U0001f600"'.encode()).decode().encode("utf-16"))
    [found] = entries([str(file)])
    assert found.value is not None
    assert found.value["action"]["tool_output_summary"] == "ü \U0001f600"


def test_a_log_that_its_program_has_packed_with_zstd_is_read(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl.zst"
    file.write_bytes(bytes(cramjam.zstd.compress(log_of_one_call())))
    assert [each.value and each.value["event_id"] for each in entries([str(file)])] == ["c1"]


def test_zstd_that_is_cut_or_holds_too_much_is_told_and_the_file_beside_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.formats.input_file.LONGEST_UNPACKED", 1_000_000)
    packed = bytes(cramjam.zstd.compress(log_of_one_call()))
    (tmp_path / "a.jsonl.zst").write_bytes(packed[:-4])
    (tmp_path / "b.jsonl.zst").write_bytes(bytes(cramjam.zstd.compress(bytes(1_000_001))))
    (tmp_path / "c.jsonl.zst").write_bytes(packed)
    intake = Intake()
    assert len(list(entries([str(tmp_path)], intake=intake))) == 1
    assert {each.count for each in intake.damaged.troubles.values()} == {2}


def test_rollouts_that_codex_has_archived_or_packed_are_in_known_places(tmp_path: Path) -> None:
    for name in ("sessions/2026/01/01/rollout-1-a.jsonl.zst", "archived_sessions/rollout-1-b.jsonl"):
        file = tmp_path / ".codex" / name
        file.parent.mkdir(parents=True)
        file.touch()
    found = [Path(name).name for each in known_places(tmp_path) for name in each.files]
    assert sorted(found) == ["rollout-1-a.jsonl.zst", "rollout-1-b.jsonl"]


def test_the_good_file_is_read_beside_pipes_circles_of_links_and_folders_without_an_end(
    tmp_path: Path,
) -> None:
    shutil.copy(CLAUDE, tmp_path / "z.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "self").symlink_to(".")
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(1_500):
            os.mkdir("deeper", dir_fd=here)
            below = os.open("deeper", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)
    intake = Intake()
    found = list(entries([str(tmp_path)], intake=intake))
    assert len(found) == len(CLAUDE.with_name("loop.expected.jsonl").read_bytes().splitlines())
    assert {each.count for each in intake.damaged.troubles.values()} == {3}
    subprocess.run(["rm", "-rf", tmp_path / "deeper"], check=True)  # shutil would need as many calls


def test_a_named_pipe_that_nobody_writes_into_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.formats.input_file._PATIENCE_S", 0)
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(ConfigurationError, match="nothing was written into this pipe"):
        list(entries([str(tmp_path / "pipe.jsonl")]))


def test_a_line_of_eddys_own_format_that_is_too_long_is_told_and_not_held(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    log = (RECORDINGS / "read_loop.jsonl").read_bytes().splitlines()[0]
    with file.open("wb") as stream:
        stream.write(log + b"\n")
        stream.truncate(4 * LONGEST_UNIT)
    intake = Intake()
    assert len(list(entries([str(file)], intake=intake))) == 1
    [trouble] = intake.share("jsonl").troubles.values()
    assert "longer than is read" in trouble.first.detail


def test_a_line_of_decision_logs_that_is_longer_than_is_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    rows = (SAMPLES / "claude_code" / "loop.expected.jsonl").read_bytes()
    path.write_bytes(rows + b"x" * (LONGEST_UNIT + 100) + b"\n")
    intake = Intake()
    assert len(read(path, intake=intake)) == 7
    assert any("longer than is read" in line for line in intake_lines(intake))


def test_in_a_known_folder_the_folder_decides_where_no_line_does(tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "projects" / "x" / "new.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(b'{"kind": "of a version to come"}\n')
    intake = Intake()
    assert list(entries([str(file)], intake=intake)) == []
    assert intake.shares["claude-code"].files == 1
