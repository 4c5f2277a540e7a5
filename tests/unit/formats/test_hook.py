"""`eddy hook`: a whole line for each call, whatever it is given, and never in the agent's way."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.text.result_text import normalise_result
from streams.core.entry import Entry
from streams.formats.adapters.claude_hooks import FORMAT
from streams.formats.hook import LONGEST_LINE, MOST_BYTES, keep, line_of, path

SAMPLE = Path(__file__).parents[2] / "samples" / "claude_hooks" / "hooks.jsonl"
EDDY = Path(sys.executable).with_name("eddy")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=40), inner, max_size=6),
    max_leaves=20,
)


def hook(given_: bytes, environment: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([EDDY, "hook"], input=given_, env=environment, capture_output=True, check=False)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "state" / "hooks.jsonl"
    monkeypatch.setenv("EDDY_HOOK_FILE", str(file))
    return file


def records(lines: list[bytes]) -> list[Any]:
    adapter = FORMAT.start("hooks")
    found = [each for line in lines for each in adapter.feed(line)] + list(adapter.close())
    return [each.value for each in found if isinstance(each, Entry)]


def test_what_is_kept_gives_the_records_of_the_sample_with_their_times() -> None:
    lines = SAMPLE.read_bytes().splitlines()
    kept = [line_of(json.loads(line), 1_000 + number) for number, line in enumerate(lines)]
    expected, found = records(lines), records(kept)
    for record in (*expected, *found):
        del record["meta"]["timestamp"]
    assert found == expected


@given(st.dictionaries(st.sampled_from(["tool_input", "tool_response", "error", "tool_name"]), VALUES))
def test_a_line_is_whole_json_and_short_whatever_the_event_holds(event: dict[str, Any]) -> None:
    line = line_of({**event, "session_id": "s", "hook_event_name": "PostToolUse"}, 7)
    assert len(line) < LONGEST_LINE
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line)["ts"] == 7


@pytest.mark.parametrize("value", ["x" * 100_000, ["word"] * 10_000, {str(n): "y" * 50 for n in range(500)}])
def test_a_long_event_is_cut_and_read(value: Any) -> None:
    event = {
        "session_id": "s",
        "hook_event_name": "PostToolUse",
        "tool_name": "Write",
        "tool_use_id": "t",
        "tool_input": value,
        "tool_response": value,
    }
    line = line_of(event, 7)
    assert len(line) < LONGEST_LINE
    (record,) = records([line])
    assert record["event_id"] == "t"


def test_long_texts_that_differ_at_their_ends_still_differ() -> None:
    def result(end: str) -> Any:
        event = {
            "session_id": "s",
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_use_id": "t",
            "tool_input": {"command": "make"},
            "tool_response": {"stdout": "x" * 50_000 + end, "stderr": ""},
        }
        (record,) = records([line_of(event, 7)])
        return normalise_result(record["action"]["tool_output_summary"])

    assert result("a") == result("a")
    assert result("a") != result("b")


def test_the_file_belongs_to_its_user_alone(file: Path) -> None:
    keep(b'{"session_id":"s"}', 7)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_file_that_has_grown_too_large_is_set_aside(file: Path) -> None:
    keep(b'{"session_id":"old"}', 7)
    os.truncate(file, MOST_BYTES + 1)
    keep(b'{"session_id":"new"}', 8)
    assert json.loads(file.read_bytes())["session_id"] == "new"
    assert file.with_name("hooks.jsonl.1").stat().st_size == MOST_BYTES + 1


def test_the_place_is_that_of_the_state_of_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDDY_HOOK_FILE", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/homes/me")
    assert path() == "/homes/me/.local/state/eddy/hooks.jsonl"
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert path() == "/state/eddy/hooks.jsonl"


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff\xfe", b'"\\ud800"', b"[" * 100_000, b'{"a": NaN}'])
def test_it_ends_with_0_whatever_it_is_given(text: bytes, tmp_path: Path) -> None:
    done = hook(text, {"EDDY_HOOK_FILE": str(tmp_path / "hooks.jsonl")})
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr


def test_it_ends_with_0_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (
        tmp_path / "file" / "hooks.jsonl",
        tmp_path,
        Path("/proc/nothing/here"),
        Path("\n" * 5_000),
    ):
        done = hook(b'{"session_id":"s"}', {"EDDY_HOOK_FILE": str(place)})
        assert (done.returncode, done.stdout) == (0, b"")
        assert done.stderr.startswith(b"eddy hook: nothing was kept (")


def test_lines_of_many_hooks_at_once_do_not_mix(tmp_path: Path) -> None:
    environment = {"EDDY_HOOK_FILE": str(tmp_path / "hooks.jsonl")}
    event = {"session_id": "s", "hook_event_name": "PostToolUse", "error": "x" * 3_000}
    running = [subprocess.Popen([EDDY, "hook"], stdin=subprocess.PIPE, env=environment) for _ in range(12)]
    for number, process in enumerate(running):
        process.communicate(json.dumps({**event, "tool_use_id": str(number)}).encode())
        assert process.returncode == 0
    lines = (tmp_path / "hooks.jsonl").read_bytes().splitlines()
    assert sorted(int(json.loads(line)["tool_use_id"]) for line in lines) == list(range(12))


def test_it_imports_nothing_but_a_few_standard_modules(tmp_path: Path) -> None:
    program = (
        "import sys; before = set(sys.modules); import streams.__main__, streams.formats.hook;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, cwd=tmp_path)
    ours = set(found.stdout.decode().split())
    assert ours - sys.stdlib_module_names == {"streams"}
    assert not ours & {"asyncio", "logging", "typing", "pathlib", "subprocess"}
