"""`eddy ingest` as a command: where records go, what it asks, what it says, and how it ends."""

import gzip
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.formats.ingest.store import alone
from streams.formats.registry import BY_NAME
from tests.ports import own_port

SAMPLES = Path(__file__).parents[2] / "samples"
LOG = SAMPLES / "claude_code" / "loop.jsonl"


def expected(path: Path) -> list[Any]:
    rows = path.with_name(f"{path.name.split('.')[0]}.expected.jsonl")
    return [orjson.loads(line) for line in rows.read_bytes().splitlines()]


def every_sample() -> Iterator[Path]:
    for folder in sorted(SAMPLES.iterdir()):
        if folder.name.replace("_", "-") in BY_NAME:
            for path in sorted(folder.glob("*.expected.jsonl")):
                name = path.name.removesuffix(".expected.jsonl")
                yield from (each for each in folder.glob(f"{name}.*") if each != path)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return tmp_path / "home"


def ingest(*words: object) -> Result:
    return CliRunner().invoke(main, ["ingest", *map(str, words)])


def records(text: str) -> list[Any]:
    return [orjson.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("sample", list(every_sample()), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_sample_gives_the_expected_records_each_time(sample: Path) -> None:
    for _ in range(2):
        result = ingest(sample, "--format", "auto", "--out", "-")
        assert result.exit_code == 0, result.stderr
        assert records(result.stdout) == expected(sample)


def test_a_file_gets_each_record_once_and_all_of_them_again_if_it_is_gone(tmp_path: Path, home: Path) -> None:
    out = tmp_path / "out.jsonl"
    for _ in range(2):
        assert ingest(LOG, "--out", out).exit_code == 0
        assert records(out.read_text()) == expected(LOG)
    assert (home / ".local/state/eddy/ingest.sqlite").exists()
    out.unlink()
    ingest(LOG, "--out", out)
    assert records(out.read_text()) == expected(LOG)


def test_a_half_line_at_the_end_of_the_file_is_cut_off_and_its_record_comes_again(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_bytes(b'{"kept": 1}\n{"half')
    ingest(LOG, "--out", out)
    assert records(out.read_text()) == [{"kept": 1}, *expected(LOG)]


def test_the_state_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    ingest(LOG, "--out", tmp_path / "out.jsonl")
    assert (tmp_path / "states/eddy/ingest.sqlite").exists()


def test_without_a_path_the_folders_of_known_agents_are_read(home: Path) -> None:
    log = home / ".claude/projects/-work/a.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(LOG.read_bytes())
    assert records(ingest("--out", "-").stdout) == expected(LOG)


def test_a_dry_run_counts_and_writes_nothing(home: Path) -> None:
    result = ingest(LOG, "--dry-run")
    assert result.stdout == ""
    assert result.stderr == "claude-code: 1 file, 7 records, 5 lines ignored, 0 problems\n"
    assert not home.exists()


def test_sessions_in_a_loop_are_shown_without_kafka() -> None:
    result = ingest(LOG, "--judge")
    assert result.exit_code == 0
    assert expected(LOG)[0]["session_id"] in result.stdout
    assert "R1" in result.stdout


@pytest.mark.parametrize("content", ["hash", "none"])
def test_texts_are_kept_back(content: str) -> None:
    result = ingest(LOG, "--out", "-", "--content", content)
    assert [each["event_id"] for each in records(result.stdout)] == [
        each["event_id"] for each in expected(LOG)
    ]
    assert "settings.toml" not in result.stdout


def test_problems_end_with_1_only_if_it_is_strict(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(LOG.read_bytes() + b'{"sessionId": \n')
    assert ingest(log, "--out", "-").exit_code == 0
    result = ingest(log, "--out", "-", "--strict")
    assert result.exit_code == 1
    assert "1 unreadable" in result.stderr


@pytest.mark.parametrize("data", [None, b"hello\n", b"\0\1\2" * 1000])
def test_nothing_to_read_ends_with_2(tmp_path: Path, data: bytes | None) -> None:
    log = tmp_path / "a.log"
    if data is not None:
        log.write_bytes(data)
    for options in ((), ("--format", "claude-code")):
        result = ingest(log, "--out", "-", *options)
        assert result.exit_code == 2
        assert "eddy: " in result.stderr


def test_kafka_gets_full_texts_only_if_that_was_said_once() -> None:
    servers = ("--bootstrap-servers", f"127.0.0.1:{own_port()}")
    refused = ingest(LOG, "--to", "decision-logs", *servers)
    assert refused.exit_code == 2
    assert "--content full" in refused.stderr
    for said in (("--content", "full"), ()):
        assert ingest(LOG, "--to", "decision-logs", *servers, *said).exit_code == 3  # nothing answers there


def test_a_second_process_for_the_same_destination_ends_with_2(tmp_path: Path, home: Path) -> None:
    out = tmp_path / "out.jsonl"
    with alone(home / ".local/state/eddy/ingest.sqlite", f"file:{out}"):
        result = ingest(LOG, "--out", out)
        assert ingest(LOG, "--out", tmp_path / "other.jsonl").exit_code == 0
    assert result.exit_code == 2
    assert "Another" in result.stderr
    assert ingest(LOG, "--out", out).exit_code == 0


def test_a_state_that_is_none_ends_with_2(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_bytes(b"hello" * 1000)
    result = ingest(LOG, "--out", tmp_path / "out.jsonl", "--state", state)
    assert result.exit_code == 2
    assert "--state" in result.stderr


@pytest.mark.parametrize(
    "words", [("--out", "-", "--dry-run"), ("--out", "-", "--judge"), ("--since", "yesterday", "--dry-run")]
)
def test_what_makes_no_sense_ends_with_2(words: tuple[str, ...]) -> None:
    assert ingest(LOG, *words).exit_code == 2


def test_old_records_are_left_out() -> None:
    time = expected(LOG)[3]["meta"]["timestamp"]
    since = f"2026-11-22T{time // 3_600_000 % 24:02}:{time // 60_000 % 60:02}:{time % 60_000 / 1000:06.3f}Z"
    assert records(ingest(LOG, "--out", "-", "--since", since).stdout) == expected(LOG)[3:]


def test_a_file_that_would_be_read_and_written_at_once_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(LOG.read_bytes())
    result = ingest(log, "--out", log)
    assert (result.exit_code, log.read_bytes()) == (2, LOG.read_bytes())
    assert "read and written at once" in result.stderr


def test_a_file_in_the_folder_that_is_read_may_be_written_and_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(LOG.read_bytes())
    out = tmp_path / "out.jsonl"
    for _ in range(2):
        assert ingest(tmp_path, "--out", out).exit_code == 0
    assert records(out.read_text()) == expected(LOG)


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_read_like_a_file_and_no_copy_of_it_stays(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    given = gzip.compress(LOG.read_bytes()) if packed else LOG.read_bytes()
    result = CliRunner().invoke(main, ["ingest", "-", "--out", "-"], input=given)
    assert result.exit_code == 0, result.stderr
    assert records(result.stdout) == expected(LOG)
    assert list(tmp_path.iterdir()) == []


def test_standard_input_that_comes_again_is_sent_once(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    for _ in range(2):
        result = CliRunner().invoke(main, ["ingest", "-", "--out", str(out)], input=LOG.read_bytes())
        assert result.exit_code == 0, result.stderr
    assert records(out.read_text()) == expected(LOG)


@pytest.mark.parametrize("more", [["--follow"], ["--otlp", "127.0.0.1:0"]])
def test_standard_input_cannot_be_followed(more: list[str]) -> None:
    result = ingest("-", "--out", "-", *more)
    assert result.exit_code == 2
    assert "Standard input is read to its end" in result.stderr


def test_empty_standard_input_is_nothing_to_read() -> None:
    assert ingest("-", "--out", "-").exit_code == 2
