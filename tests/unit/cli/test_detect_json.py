"""`eddy detect --json`: one line per record, for programs."""

import gzip
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import fastavro
import pytest
from click.testing import CliRunner, Result

from schemas.bundled import latest
from streams.cli import main
from streams.core.domain.text.digest import digest

KEYS = [
    "status",
    "session_id",
    "event_id",
    "entropy_score",
    "node_state",
    "problems",
    "eddy",
    "recommendation",
    "handovers",
]


def log(number: int, session: str = "s1", **changes: Any) -> dict[str, Any]:
    return {
        "session_id": session,
        "event_id": f"{session}-e{number}",
        "meta": {"trace_id": "t1", "timestamp": 1_700_000_000_000 + 1000 * number},
        "identity": {"agent_id": "agent-1", "agent_type": "coder"},
        "cognition": {"intent": "find the order", "entropy_score": 0.9},
        "action": {"status": "success", "tool_call": "search", "tool_input": '{"q":"order"}'},
        **changes,
    }


def write(path: Path, *records: dict[str, Any] | str) -> str:
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def detect(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["detect", *arguments], input=stdin)


def lines(*arguments: str, stdin: bytes | None = None) -> list[dict[str, Any]]:
    result = detect("--json", *arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_first_record_and_its_repetitions(tmp_path: Path) -> None:
    result = detect("--json", write(tmp_path / "a.jsonl", *(log(number) for number in range(3))))
    pattern = {"intent": "find the order", "tool_call": "search", "action_status": "success"}
    golden = [json.loads(line) for line in result.stdout.splitlines()]
    assert [list(line) for line in golden] == [KEYS] * 3
    assert [{key: line[key] for key in KEYS if key != "eddy"} for line in golden] == [
        {
            "status": "ok",
            "session_id": "s1",
            "event_id": f"s1-e{number}",
            "entropy_score": score,
            "node_state": state,
            "problems": [],
            "recommendation": None,
            "handovers": [],
        }
        for number, score, state in [(0, 1.0, "active"), (1, 0.5, "active"), (2, 0.3333, "blocked")]
    ]
    assert [line["eddy"]["events"] for line in golden[:2]] == [[], []]
    eddy = golden[2]["eddy"]
    assert {key: eddy[key] for key in ("id", "settings_version", "scoring_status", "step")} == {
        "id": "s1/0/2/enriched",
        "settings_version": 0,
        "scoring_status": "ok",
        "step": 3,
    }
    assert [event["id"] for event in eddy["events"]] == [
        "s1/0/2/loop_episode/opened",
        "s1/0/2/divergence_suspected",
        "s1/0/2/node_state/blocked",
    ]
    assert eddy["uniqueness"] == {
        "score": 0.3333,
        "severity": "WARNING",
        "window_size": 3,
        "unique_count": 1,
        "repeated_pattern": pattern,
        "occurrence_count": 3,
        "entropy_normalised": 0.0,
        "shannon_bits": 0.0,
        "shannon_normalised": 0.0,
    }
    assert result.stderr == ""


def test_a_completed_task_says_what_the_next_one_should_be_granted(tmp_path: Path) -> None:
    def completing(session: str, tokens: int) -> dict[str, Any]:
        delta, end = {"tokens_consumed": tokens}, {"is_terminal": True}
        return log(1, session, task_type="api", state_delta=delta, control=end)

    records = [log(0, "a"), completing("a", 100), completing("b", 200), log(2, "c")]
    told = lines(write(tmp_path / "a.jsonl", *records))
    assert [line["recommendation"] for line in told] == [
        None,
        {"steps": 3, "tokens": 120, "samples": 1},
        {"steps": 2, "tokens": 180, "samples": 2},
        None,
    ]
    assert told[1]["eddy"]["completion"] == {
        "task_type": "api",
        "steps_used": 2,
        "tokens_used": 100,
        "total_progress": 0.0,
    }


def test_a_loop_is_told_with_its_events(tmp_path: Path) -> None:
    last = lines(write(tmp_path / "a.jsonl", *(log(number) for number in range(5))))[-1]
    assert (last["entropy_score"], last["node_state"]) == (0.2, "alert_entropy")
    alert, node = [
        event for event in last["eddy"]["events"] if event["event_type"] in {"entropy_alert", "node_state"}
    ]
    episode_id = digest("s1|0|2")
    assert (last["eddy"]["verdict"]["level"], last["eddy"]["verdict"]["episode_id"]) == ("LOOP", episode_id)
    assert alert == {
        "id": "s1/0/4/entropy_alert",
        "event_type": "entropy_alert",
        "session_id": "s1",
        "agent_id": "agent-1",
        "event_id": "s1-e4",
        "timestamp": 1_700_000_004_000,
        "partition": 0,
        "offset": 4,
        "entropy_score": 0.2,
        "window_size": 5,
        "repeated_pattern": {"intent": "find the order", "tool_call": "search", "action_status": "success"},
        "occurrence_count": 5,
        "verdict_level": "LOOP",
        "episode_id": episode_id,
        "reason": "entered",
    }
    assert (node["event_type"], node["state"], node["offset"]) == ("node_state", "alert_entropy", 4)


def test_a_refused_record_says_why_and_takes_an_offset(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        log(0),
        log(1, action={"status": "maybe"}, meta={"timestamp": 5}),
        "{not json",
        log(2, session_id=None),
        log(3),
    )
    found = lines(path)
    assert [(line["status"], line["problems"]) for line in found] == [
        ("ok", []),
        ("rejected", ["meta.trace_id", "action.status"]),
        ("rejected", ["undecodable"]),
        ("rejected", ["session_id"]),
        ("ok", []),
    ]
    assert [(line["session_id"], line["event_id"]) for line in found[1:4]] == [
        ("s1", "s1-e1"),
        (None, None),
        (None, "s1-e2"),
    ]
    for line in found[1:4]:
        assert (line["entropy_score"], line["node_state"], line["eddy"]) == (None, None, None)
    assert found[4]["eddy"]["id"] == "s1/0/4/enriched"
    assert found[4]["entropy_score"] == 0.5


def test_refused_records_are_named_on_standard_error(tmp_path: Path) -> None:
    result = detect("--json", write(tmp_path / "a.jsonl", "{", log(1, action={"status": "maybe"})))
    assert result.stderr.splitlines() == [
        (
            "undecodable offset=0 session_id=null event_id=null problems=undecodable "
            'detail="neither a JSON object nor Avro of a known schema"'
        ),
        (
            'schema_violation offset=1 session_id="s1" event_id="s1-e1" problems=action.status '
            'detail="action.status: text of 5 characters is not one of failure, pending, skipped, success"'
        ),
        (
            "eddy: Nothing was scored: 2 records found, and no decision log that counts. Check the files and "
            "--format."
        ),
    ]
    assert result.exit_code == 2


def test_a_record_without_an_agent_is_scored_and_named(tmp_path: Path) -> None:
    result = detect(
        "--json", write(tmp_path / "a.jsonl", log(0, identity={"agent_id": " ", "agent_type": "c"}))
    )
    line = json.loads(result.stdout)
    assert (line["status"], line["eddy"]["scoring_status"]) == ("ok", "failed:missing_agent_id")
    assert line["entropy_score"] == 0.9
    assert "problems=missing_agent_id" in result.stderr


def test_a_record_without_cognition_has_no_score(tmp_path: Path) -> None:
    [line] = lines(write(tmp_path / "a.jsonl", log(0, cognition=None)))
    assert (line["status"], line["entropy_score"]) == ("ok", None)
    assert line["eddy"]["scoring_status"] == "skipped:no_cognition"


def test_blank_lines_are_not_records(tmp_path: Path) -> None:
    assert len(lines(write(tmp_path / "a.jsonl", "", log(0), "  ", log(1), ""))) == 2


def test_several_files_are_one_partition(tmp_path: Path) -> None:
    one, other = write(tmp_path / "a.jsonl", log(0), "{"), write(tmp_path / "b.jsonl", log(1))
    found = lines(one, other)
    assert found[2]["eddy"]["id"] == "s1/0/2/enriched"
    assert found[2]["entropy_score"] == 0.5


def test_an_event_that_is_there_again_is_a_duplicate(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", log(0), log(1))
    assert [line["status"] for line in lines(path, path)] == ["ok", "ok", "duplicate", "duplicate"]


def test_standard_input_is_a_dash() -> None:
    assert [line["event_id"] for line in lines("-", stdin=json.dumps(log(7)).encode())] == ["s1-e7"]


def test_avro_and_gzip_are_told_by_content(tmp_path: Path) -> None:
    stream = io.BytesIO()
    fastavro.writer(stream, latest("decision-logs-value").definition, [log(0), log(1)])
    (tmp_path / "records").write_bytes(stream.getvalue())
    (tmp_path / "packed").write_bytes(gzip.compress(json.dumps(log(2)).encode()))
    found = lines(str(tmp_path / "records"), str(tmp_path / "packed"))
    assert [line["entropy_score"] for line in found] == [1.0, 0.5, 0.3333]


def test_every_line_of_a_session_is_the_same_wherever_it_was_read_from(tmp_path: Path) -> None:
    records = [log(number, session="s" + str(number % 3)) for number in range(9)]
    stream = io.BytesIO()
    fastavro.writer(stream, latest("decision-logs-value").definition, records)
    (tmp_path / "a.avro").write_bytes(stream.getvalue())
    assert lines(str(tmp_path / "a.avro")) == lines(write(tmp_path / "a.jsonl", *records))


def test_no_records_give_no_lines_and_end_with_two(tmp_path: Path) -> None:
    result = detect("--json", "--fail-on-loop", write(tmp_path / "empty.jsonl"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("eddy: Nothing was scored")


class TestSettings:
    def test_a_document_changes_the_defaults_as_version_1(self, tmp_path: Path) -> None:
        settings = tmp_path / "settings.json"
        settings.write_text('{"entropy_window_size": 2, "entropy_loop_threshold": 0.5}')
        records = write(tmp_path / "a.jsonl", log(0), log(1), log(2))
        found = lines("--settings", str(settings), records)
        assert found[2]["eddy"]["settings_version"] == 1
        assert found[2]["eddy"]["uniqueness"]["window_size"] == 2

    def test_what_cannot_be_set_is_wrong_usage_and_named(self, tmp_path: Path) -> None:
        settings = tmp_path / "settings.json"
        settings.write_text('{"entropy_window_size": 0, "no_such_setting": 1}')
        result = detect("--json", "--settings", str(settings), write(tmp_path / "a.jsonl", log(0)))
        assert result.exit_code == 2
        assert result.stdout == ""
        assert "entropy_window_size: must be an integer from 1 to 1000" in result.stderr
        assert "no_such_setting" in result.stderr

    def test_a_rule_that_can_never_fire_is_a_warning(self, tmp_path: Path) -> None:
        settings = tmp_path / "settings.json"
        settings.write_text('{"entropy_window_size": 3}')
        result = detect("--json", "--settings", str(settings), write(tmp_path / "a.jsonl", log(0)))
        assert "warning: A1 can never reach LOOP" in result.stderr

    @pytest.mark.parametrize("text", ["{", "[]", "7", ""])
    def test_a_file_that_is_no_document_is_wrong_usage(self, tmp_path: Path, text: str) -> None:
        settings = tmp_path / "settings.json"
        settings.write_text(text)
        result = detect("--settings", str(settings), write(tmp_path / "a.jsonl", log(0)))
        assert result.exit_code == 2
        assert "settings.json" in result.stderr
        assert result.stdout == ""

    def test_a_missing_file_is_wrong_usage(self, tmp_path: Path) -> None:
        result = detect("--settings", str(tmp_path / "nowhere.json"), write(tmp_path / "a.jsonl", log(0)))
        assert result.exit_code == 2
        assert "nowhere.json" in result.stderr


def test_a_missing_input_is_wrong_usage(tmp_path: Path) -> None:
    result = detect("--json", str(tmp_path / "nowhere.jsonl"))
    assert result.exit_code == 2
    assert "nowhere.jsonl" in result.stderr


def test_without_an_input_the_usage_is_shown() -> None:
    result = detect("--json")
    assert result.exit_code == 2
    assert "Usage: " in result.stderr


def test_a_damaged_input_gives_the_records_before_the_damage_and_2(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(log(n)) + "\n" for n in range(2000)).encode())[:-2000])
    result = detect("--json", str(path))
    assert result.exit_code == 2
    assert 0 < len(result.stdout.splitlines()) < 2000
    assert "cut.jsonl.gz" in result.stderr


@pytest.mark.parametrize(("repetitions", "code"), [(3, 0), (4, 1)])
def test_a_loop_is_a_failure_only_on_request(tmp_path: Path, repetitions: int, code: int) -> None:
    path = write(tmp_path / "a.jsonl", *(log(number) for number in range(repetitions)))
    assert detect("--json", path).exit_code == 0
    assert detect("--json", "--fail-on-loop", path).exit_code == code
    assert detect("--fail-on-loop", path).exit_code == code


def test_scores_alone_are_no_loop(tmp_path: Path) -> None:
    """Five steps with one intent, tool and status alarm the ratio; each has a result of its own."""
    results = (
        {"status": "success", "tool_call": "read", "tool_output_summary": f"chunk {n}"} for n in range(9)
    )
    path = write(tmp_path / "a.jsonl", *(log(number, action=action) for number, action in enumerate(results)))
    result = detect("--fail-on-loop", path)
    assert (result.exit_code, "entropy_alert: " in result.stdout) == (0, True)
    assert "1 session: 0 in a loop, 1 suspicious" in result.stdout


def test_a_loop_that_is_not_published_fails_too(tmp_path: Path) -> None:
    settings = write(tmp_path / "settings.json", '{"alert_families": []}')
    path = write(tmp_path / "a.jsonl", *(log(number) for number in range(4)))
    assert detect("--fail-on-loop", "--settings", settings, path).exit_code == 1


class TestInstalled:
    """The executable itself, with real pipes."""

    @staticmethod
    def command() -> str:
        found = shutil.which("eddy", path=str(Path(sys.executable).parent))
        assert found is not None, "eddy is not installed beside this Python"
        return found

    def test_a_file_in_a_line_out(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.jsonl", log(0))
        done = subprocess.run(
            [self.command(), "detect", "--json", path], capture_output=True, text=True, check=True
        )
        assert json.loads(done.stdout)["session_id"] == "s1"
        assert done.stderr == ""

    def test_a_line_from_standard_input_is_answered_before_the_next_one_comes(self) -> None:
        with subprocess.Popen(
            [self.command(), "detect", "--json", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for number in range(2):
                process.stdin.write(json.dumps(log(number)).encode() + b"\n")
                process.stdin.flush()
                assert json.loads(process.stdout.readline())["event_id"] == f"s1-e{number}"
            process.stdin.close()
            assert process.wait() == 0

    @pytest.mark.parametrize("options", [["--json"], ["--all-steps"]])
    def test_a_reader_who_has_seen_enough_is_no_error(self, tmp_path: Path, options: list[str]) -> None:
        path = write(tmp_path / "a.jsonl", *(log(number) for number in range(3000)))
        with subprocess.Popen(
            [self.command(), "detect", *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 0
