"""`eddy backtest` on files: what it prints, what it exits with, and which settings a word means."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.cli.settings_choice import version_of
from streams.cli.topic_range import Bound, bound
from streams.core.errors import ConfigurationError
from streams.core.settings_document import to_document
from streams.kafka.client import Stored
from tests.stream import decision_log, repeated


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Return a file with a session that repeats itself and one that does not."""
    file = tmp_path / "logs.jsonl"
    values = [
        *repeated(6, session="loops"),
        *(decision_log(f"step {n}", f"tool {n}", "success", number=n, session="fine") for n in range(3)),
    ]
    file.write_bytes(b"\n".join([*map(orjson.dumps, values), b"not json", b'{"session_id": "x"}']))
    return file


@pytest.fixture
def later(tmp_path: Path) -> str:
    """Return a document that finds the loop two records later."""
    file = tmp_path / "later.json"
    file.write_bytes(orjson.dumps({"verdict_rules": ["R1", "R2", "R9"], "identical_failing_loop": 6}))
    return str(file)


def eddy(*words: object) -> Result:
    return CliRunner().invoke(main, ["backtest", *map(str, words)])


def lines(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_report_tells_what_is_compared_and_what_would_have_changed(logs: Path, later: str) -> None:
    result = eddy("--a", "default", "--b", later, logs)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "A  the defaults",
        f"B  {later}",
        '   verdict_rules: ["R1", "R2", "R7", "R9"] → ["R1", "R2", "R9"]',
        "   identical_failing_loop: 4 → 6",
        "",
        "● loops · agent-1 · 6 records, 3 would differ",
        (
            "    loop under both, 2 records later under B: "
            "A R1 at record 4 (offset 3); B R1 at record 6 (offset 5)"
        ),
        "    differs in verdict_level 2, events 2",
        "9 records: 3 would differ (verdict_level 2, events 2)",
        "  left out: 1 rejected under both, 1 unreadable",
        "2 sessions: 1 would differ",
        "loops: 1 under both (0 earlier under B, 1 later), 0 only under A, 0 only under B",
        "alerts: 4 → 4",
    ]


def test_files_are_compared_with_the_defaults_unless_another_document_is_named(
    logs: Path, later: str
) -> None:
    alone, named = eddy("--a", later, logs), eddy("--a", later, "--b", "default", logs)
    assert (alone.stdout, alone.exit_code) == (named.stdout, 0)
    assert alone.stdout.splitlines()[:2] == [f"A  {later}", "B  the defaults"]


def test_a_topic_is_compared_with_the_settings_in_force() -> None:
    result = eddy("--a", "default", "--topic", "decision-logs", "--bootstrap-servers", "127.0.0.1:1")
    assert "No broker answers" in result.stderr
    assert result.exit_code == 3


def test_the_same_documents_say_so(logs: Path) -> None:
    result = eddy("--a", "default", "--b", "default", logs)
    assert "   They do not differ." in result.stdout.splitlines()
    assert "2 sessions: 0 would differ" in result.stdout
    assert "●" not in result.stdout


def test_machines_get_a_line_per_session_and_a_summary(logs: Path, later: str) -> None:
    loops, fine, last = lines(eddy("--a", "default", "--b", later, "--json", logs))
    assert (loops["session_id"], fine["session_id"]) == ("loops", "fine")
    assert {name: loops[name] for name in ("records", "differing", "loop", "delay", "partition")} == {
        "records": 6,
        "differing": 3,
        "loop": "both",
        "delay": 2,
        "partition": 0,
    }
    assert loops["differences"] == {"verdict_level": 2, "events": 2}
    assert loops["a"]["loop"] == {"record": 4, "offset": 3, "rule": "R1"}
    assert loops["b"]["loop"] == {"record": 6, "offset": 5, "rule": "R1"}
    assert (fine["differing"], fine["loop"], fine["delay"]) == (0, "neither", None)
    summary = last["summary"]
    assert summary["loops"] == {"both": 1, "a": 0, "b": 0, "neither": 1}
    assert (summary["sessions"], summary["differing_sessions"], summary["later"]) == (2, 1, 1)
    assert (summary["records"], summary["rejected"], summary["unreadable"]) == (9, 1, 1)
    assert summary["alerts_a"].keys() == {"A1", "A2", "R1"}


def test_the_same_input_gives_the_same_bytes(logs: Path, later: str) -> None:
    words = ("--a", "default", "--b", later, "--json", logs, logs)
    assert eddy(*words).stdout_bytes == eddy(*words).stdout_bytes


def test_a_difference_is_a_failure_only_where_that_is_asked_for(logs: Path, later: str) -> None:
    words = ("--a", "default", "--fail-on-difference", logs)
    assert eddy(*words, "--b", later).exit_code == 1
    assert eddy(*words, "--b", "default").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--a", "default", "--b", "default"], "Give FILEs or --topic"),
        (["--a", "default", "--b", "default", "--topic", "decision-logs", "LOGS"], "one of them"),
        (["--a", "default", "--b", "default", "--from", "7", "LOGS"], "--from and --to are for --topic"),
        (["--b", "default", "LOGS"], "Missing option '--a'"),
        (
            ["--a", "nowhere.json", "--b", "default", "LOGS"],
            "'nowhere.json' is no file, and none of: default",
        ),
        (["--a", "default", "--b", "default", "--topic", "t", "--from", "noon"], "'noon' is no OFFSET"),
    ],
)
def test_wrong_usage_is_exit_code_2(logs: Path, words: list[str], message: str) -> None:
    result = eddy(*[str(logs) if word == "LOGS" else word for word in words])
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize("word", ["live", "shadow", "7"])
def test_no_broker_is_exit_code_3_where_a_word_needs_one(logs: Path, word: str) -> None:
    result = eddy("--a", word, "--b", "default", "--bootstrap-servers", "127.0.0.1:1", logs)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "EDDY_BOOTSTRAP_SERVERS" in result.stderr


def test_a_document_with_mistakes_is_wrong_usage_and_they_are_named(logs: Path, tmp_path: Path) -> None:
    file = tmp_path / "wrong.json"
    file.write_bytes(orjson.dumps({"cycle_loop": 0, "identical_failing_loop": 5}))
    result = eddy("--a", "default", "--b", file, logs)
    assert result.exit_code == 2
    assert "cycle_loop" in result.stderr


def test_nothing_in_a_record_moves_the_cursor(tmp_path: Path, later: str) -> None:
    file = tmp_path / "evil.jsonl"
    values = repeated(6, session="\x1b[2J\u202e", agent="\x07")
    file.write_bytes(b"\n".join(map(orjson.dumps, values)))
    result = eddy("--a", "default", "--b", later, file)
    assert all(line.isprintable() for line in result.stdout.splitlines())
    assert "\\x1b[2J" in result.stdout


def test_a_version_is_what_workers_had_in_force() -> None:
    documents: list[Any] = [
        {"version": 1, "cycle_loop": 4},
        {"version": 1, "cycle_loop": 9},
        {"version": 3, "cycle_loop": 0},
    ]
    stored = [Stored(0, offset, 0, b"k", orjson.dumps(each), ()) for offset, each in enumerate(documents)]
    assert [version_of(version, stored).cycle_loop for version in (0, 1, 3)] == [3, 4, 4]
    with pytest.raises(ConfigurationError, match="no settings version 2; detector-config holds 0, 1, 3"):
        version_of(2, stored)
    assert to_document(version_of(3, stored))["cycle_loop"] == 4


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0", Bound(None, 0, None)),
        ("3:1200", Bound(3, 1200, None)),
        ("2026-01-01T00:00:00.5Z", Bound(None, None, 1_767_225_600_500)),
        ("2026-01-01T00:00", Bound(None, None, 1_767_225_600_000)),
        ("2026-01-01T01:00+01:00", Bound(None, None, 1_767_225_600_000)),
        ("2026-01-01", Bound(None, None, 1_767_225_600_000)),
    ],
)
def test_a_bound_is_an_offset_or_a_time(text: str, found: Bound) -> None:
    assert bound(text) == found


@pytest.mark.parametrize("text", ["", "-1", "a:1", "1:", "1:2:3", "noon", "1.5"])
def test_anything_else_is_no_bound(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        bound(text)
