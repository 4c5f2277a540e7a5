"""Events and labels out of files and folders."""

import gzip
import json
from pathlib import Path

import pytest

from streams.core.errors import ConfigurationError
from streams.formats.labelled import files, read
from tests.stream import decision_log

EVENT = {"session_id": "set::1", "agent_id": "a", "seq": 0, "tool_call": "ls", "action_status": "success"}
LABEL = {"session_id": "set::1", "label_source": "human", "action_action": []}


def test_lines_are_told_apart_by_what_they_say_not_by_their_file(tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text(f"{json.dumps(LABEL)}\n\n{json.dumps(EVENT)}\nnot json\n")
    found = read([str(mixed)])
    assert found.labels == [LABEL]
    assert [entry.value and entry.value["event_id"] for entry in found.entries] == ["set::1/0", None]
    assert [entry.key for entry in found.entries] == ["set::1", None]


@pytest.mark.parametrize(
    "field", [{"stuck": "no"}, {"solved": True}, {"label_source": "human"}, {"rewards": [0]}]
)
def test_each_kind_of_label_makes_a_line_a_label(tmp_path: Path, field: dict[str, object]) -> None:
    line = {"session_id": "set::1", **field}
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps(line))
    found = read([str(path)])
    assert (found.entries, found.labels) == ([], [line])


def test_sessions_with_a_made_up_clock_are_named(tmp_path: Path) -> None:
    timed = {**EVENT, "timestamp": "2026-01-01T00:00:00Z"}
    lines = [timed, {**timed, "seq": 1}, {**EVENT, "session_id": "set::2"}, decision_log(session="s-1")]
    lines += [{**timed, "session_id": "set::3"}, {**EVENT, "session_id": "set::3", "timestamp": ""}]
    path = tmp_path / "events.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert read([str(path)]).untimed == {"set::2", "set::3"}


def test_decision_logs_are_taken_as_they_are(tmp_path: Path) -> None:
    log = decision_log(session="s-1", number=3)
    path = tmp_path / "logs.jsonl"
    path.write_text(json.dumps(log))
    (entry,) = read([str(path)]).entries
    assert (entry.key, entry.value) == ("s-1", log)


def test_a_folder_stands_for_its_json_lines_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl.gz", "README.md", "c.json"):
        (tmp_path / name).touch()
    assert list(files([str(tmp_path), "else.jsonl"])) == [
        str(tmp_path / "a.jsonl.gz"),
        str(tmp_path / "b.jsonl"),
        "else.jsonl",
    ]


def test_a_folder_without_json_lines_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no \*\.jsonl or \*\.jsonl\.gz in it"):
        list(files([str(tmp_path)]))


def test_packed_files_are_unpacked(tmp_path: Path) -> None:
    packed = tmp_path / "e.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(EVENT).encode()))
    assert len(read([str(packed)]).entries) == 1
