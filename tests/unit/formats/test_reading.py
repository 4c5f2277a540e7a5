"""Opening inputs: files, standard input, gzip, and which format they are in."""

import gzip
import io
from pathlib import Path

import fastavro
import orjson
import pytest

from schemas.bundled import latest
from streams.core.detectors.settings import DEFAULTS
from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.core.offline import judge
from streams.formats.input_file import starts_with
from streams.formats.reading import TopicMessage, entries, message, messages

LOG = {
    "session_id": "s1",
    "event_id": "e1",
    "meta": {"trace_id": "t", "timestamp": 5},
    "identity": {"agent_id": "a", "agent_type": "coder"},
    "action": {"status": "success"},
}
LINE = orjson.dumps(LOG, option=orjson.OPT_APPEND_NEWLINE)


def avro(records: int) -> bytes:
    stream = io.BytesIO()
    fastavro.writer(stream, latest("decision-logs-value").definition, [LOG] * records)
    return stream.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.log").write_bytes(LINE + LINE)
    (tmp_path / "b.log").write_bytes(avro(3))
    (tmp_path / "c.log").write_bytes(gzip.compress(LINE))
    (tmp_path / "d.log").write_bytes(gzip.compress(avro(2)))
    (tmp_path / "empty.log").write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize(("name", "records"), [("a", 2), ("b", 3), ("c", 1), ("d", 2), ("empty", 0)])
def test_the_format_is_told_by_the_content_never_by_the_name(folder: Path, name: str, records: int) -> None:
    found = list(entries([str(folder / f"{name}.log")]))
    assert [entry.key for entry in found] == ["s1"] * records


def test_files_are_read_one_after_the_other(folder: Path) -> None:
    names = [str(folder / f"{name}.log") for name in "abcd"]
    assert len(list(entries(names))) == 8


def test_a_format_can_be_prescribed(folder: Path) -> None:
    [entry] = entries([str(folder / "c.log")], "trajectory")
    assert entry.value is not None
    assert entry.value["event_id"] == "s1/0"
    assert all(entry.value is None for entry in entries([str(folder / "b.log")], "jsonl"))


def test_standard_input_is_read_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(avro(2)))))
    assert len(list(entries(["-"]))) == 2


@pytest.mark.parametrize("head", [b"O", b"Obj", b"Obj\x01", b"Obj\x01more"])
def test_a_beginning_that_a_pipe_has_brought_so_far_is_enough(head: bytes) -> None:
    assert starts_with(io.BufferedReader(io.BytesIO(head)), b"Obj\x01")  # type: ignore[arg-type]


@pytest.mark.parametrize("head", [b"", b"{", b"Obx\x01", b"Obj\x02"])
def test_another_beginning_is_not(head: bytes) -> None:
    assert not starts_with(io.BufferedReader(io.BytesIO(head)), b"Obj\x01")  # type: ignore[arg-type]


def test_looking_takes_nothing_away() -> None:
    stream = io.BufferedReader(io.BytesIO(b"Obj\x01"))  # type: ignore[arg-type]
    starts_with(stream, b"Obj\x01")
    assert stream.read() == b"Obj\x01"


@pytest.mark.parametrize(
    "damaged",
    [gzip.compress(LINE * 50)[:-20], gzip.compress(LINE)[:5] + b"\xff" * 30, avro(2)[:-20]],
    ids=["gzip, end missing", "gzip, overwritten", "avro, end missing"],
)
def test_damage_names_the_file(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "damaged.log"
    path.write_bytes(damaged)
    with pytest.raises(ConfigurationError, match=r"damaged\.log: "):
        list(entries([str(path)]))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.log"):
        list(entries([str(tmp_path / "nowhere.log")]))


def test_messages_carry_the_lines_of_a_file_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b'{"session_id": "s1"}\nbroken\n')
    assert list(messages([str(path)])) == [
        TopicMessage(b"s1", b'{"session_id": "s1"}', None),
        TopicMessage(None, b"broken", None),
    ]


def test_messages_of_an_avro_container_are_json(folder: Path) -> None:
    first, *_ = messages([str(folder / "b.log")])
    assert first.key == b"s1"
    assert {name: orjson.loads(first.value)[name] for name in ("session_id", "event_id")} == {
        "session_id": "s1",
        "event_id": "e1",
    }


def test_bytes_in_an_avro_record_are_refused_alike_in_a_file_and_as_a_message(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "Log", "fields": [{"name": "session_id", "type": "bytes"}]}
    path = tmp_path / "bytes.avro"
    with path.open("wb") as stream:
        fastavro.writer(stream, schema, [{"session_id": b"s1"}])
    (tmp_path / "as_message.jsonl").write_bytes(next(messages([str(path)])).value)
    [here], [there] = (
        list(judge(entries([str(tmp_path / name)]), DEFAULTS)) for name in ("bytes.avro", "as_message.jsonl")
    )
    assert here.outcome == there.outcome


def test_a_record_too_deep_to_be_written_is_an_error_that_says_so() -> None:
    deep: list[object] = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(ConfigurationError, match="Correct the file"):
        message(Entry(key="s", timestamp=None, value={"session_id": "s", "extra": deep}, raw=None))
