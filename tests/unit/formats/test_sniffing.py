"""Which format an input has, by its first bytes."""

from pathlib import Path

import orjson
import pytest

from streams.formats.format_detection import HEAD_BYTES, nothing_fits, sniffed
from streams.formats.recordings.catalogue import RECORDINGS, Recording
from streams.formats.registry import BY_NAME, FORMATS

SAMPLES = Path(__file__).parents[2] / "samples"
RECORD = {"session_id": "s", "event_id": "e", "action": {"status": "success"}}
EVENT = {"session_id": "s", "agent_id": "a", "seq": 0, "tool_call": "t", "action_status": "ok"}

FOREIGN = [
    pytest.param(path, folder.name.replace("_", "-"), id=f"{folder.name}-{path.name}")
    for folder in sorted(SAMPLES.iterdir())
    if folder.name.replace("_", "-") in BY_NAME
    for path in sorted(folder.iterdir())
    if ".expected." not in path.name
]


@pytest.mark.parametrize(("path", "name"), FOREIGN)
def test_a_sample_is_recognised_among_all_formats(path: Path, name: str) -> None:
    assert sniffed(path.read_bytes()[:HEAD_BYTES], path.name) == name


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*/*.expected.jsonl")), ids=lambda path: path.name)
def test_records_are_recognised_wherever_they_came_from(path: Path) -> None:
    assert sniffed(path.read_bytes()[:HEAD_BYTES], path.name) == "jsonl"


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_is_recognised(recording: Recording) -> None:
    assert sniffed(recording.path.read_bytes()[:HEAD_BYTES], recording.path.name) == recording.input_format


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"Obj\x01\x04", "avro"),
        (orjson.dumps(RECORD), "jsonl"),
        (b"\xef\xbb\xbf" + orjson.dumps(RECORD), "jsonl"),
        (b"broken\n" * 30 + orjson.dumps(RECORD), "jsonl"),
        (b'{"session_id": "s", "event_id": "e"}\n', "jsonl"),
        (orjson.dumps(EVENT), "trajectory"),
        (b'{"key": null, "value": "{broken", "timestamp": 5}\n', "messages"),
    ],
)
def test_formats_of_eddy_are_in_the_same_table(head: bytes, name: str) -> None:
    assert sniffed(head, "input") == name


@pytest.mark.parametrize(
    "head",
    [b"", b"\n\n", b"once upon a time", b'{"a": 1}\n', b"[1, 2]", b"\0" * 100, b"\xff\xfe", b"[" * 60_000],
    ids=lambda head: repr(head[:8]),
)
def test_nothing_fits_what_is_no_log(head: bytes) -> None:
    assert sniffed(head, "input") is None


def test_what_was_tried_is_listed_in_one_sentence() -> None:
    said = nothing_fits("a.log")
    assert said.startswith("a.log fits no format: tried avro, jsonl, ")
    assert all(each.name in said for each in FORMATS)
    assert "--format" in said


def test_every_format_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(FORMATS)
