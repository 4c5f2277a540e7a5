"""Avro container files, as other tools write them."""

import datetime as dt
import uuid
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest

from schemas.bundled import latest
from streams.core.errors import ConfigurationError
from streams.formats import avro_container

LOG = {
    "session_id": "s1",
    "event_id": "e1",
    "meta": {"trace_id": "t", "timestamp": 1_700_000_000_000},
    "identity": {"agent_id": "a", "agent_type": "coder"},
    "cognition": {"intent": "look"},
    "action": {"status": "success", "tool_call": "Read"},
}


def container(schema: Any, records: list[Any], codec: str = "null") -> bytes:
    stream = BytesIO()
    fastavro.writer(stream, schema, records, codec=codec, sync_interval=100)
    return stream.getvalue()


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_decision_logs_are_read_with_the_schema_they_carry(codec: str) -> None:
    data = container(latest("decision-logs-value").definition, [LOG, {**LOG, "event_id": "e2"}], codec)
    first, second = avro_container.read(BytesIO(data))
    assert first.key == "s1"
    assert first.value is not None
    assert second.value is not None
    assert first.value["meta"] == {"trace_id": "t", "timestamp": 1_700_000_000_000} | {
        "parent_step_id": None,
        "cluster_id": None,
        "round_id": None,
        "parent_session_id": None,
        "user_turn": None,
        "context_change": None,
    }
    assert second.value["event_id"] == "e2"


def test_a_container_without_records_is_empty() -> None:
    assert list(avro_container.read(BytesIO(container("string", [])))) == []


def test_records_that_are_no_objects_are_undecodable() -> None:
    [entry] = avro_container.read(BytesIO(container("string", ["hello"])))
    assert (entry.value, entry.problem, entry.raw) == (None, "undecodable", b'"hello"')


def test_logical_types_become_what_a_decision_log_holds() -> None:
    schema = {
        "type": "record",
        "name": "Log",
        "fields": [
            {"name": "session_id", "type": {"type": "string", "logicalType": "uuid"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {
                "name": "costs",
                "type": {
                    "type": "array",
                    "items": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2},
                },
            },
        ],
    }
    at = dt.datetime(2023, 11, 14, 22, 13, 20, 5000, tzinfo=dt.UTC)
    session = uuid.UUID("12345678-1234-5678-1234-567812345678")
    record = {
        "session_id": session,
        "at": at,
        "local": at.replace(tzinfo=None),
        "day": at.date(),
        "costs": [],
    }
    [entry] = avro_container.read(BytesIO(container(schema, [record])))
    assert entry.key == str(session)
    assert entry.value == {
        "session_id": str(session),
        "at": 1_700_000_000_005,
        "local": 1_700_000_000_005,
        "day": "2023-11-14",
        "costs": [],
    }


def test_a_container_that_is_cut_off_tells_after_which_record() -> None:
    data = container(latest("decision-logs-value").definition, [LOG] * 40)
    entries = avro_container.read(BytesIO(data[:-60]))
    with pytest.raises(ConfigurationError, match=r"damaged Avro container after record \d+"):
        list(entries)


@pytest.mark.parametrize("data", [b"Obj\x01", b"Obj\x01\xff\xff\xff\xff", b"Obj\x01" + bytes(40)])
def test_a_container_without_a_readable_header_is_damaged(data: bytes) -> None:
    with pytest.raises(ConfigurationError, match="after record 0"):
        list(avro_container.read(BytesIO(data)))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("null", "no bytes"),
        ({"type": "record", "name": "R", "fields": []}, "no bytes"),
        (
            {
                "type": "record",
                "name": "R",
                "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}],
            },
            "no bytes",
        ),
        (
            {"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]},
            "contains itself",
        ),
    ],
    ids=["nulls", "records without fields", "lists of nulls", "a type that contains itself"],
)
def test_a_container_whose_few_bytes_are_records_without_end_is_refused(schema: Any, why: str) -> None:
    header = container(schema, [])
    sync = header[-16:]
    endless_block = b"\xfe\xff\xff\xff\xff\xff\xff\x7f" + b"\x00" + sync
    with pytest.raises(ConfigurationError, match=why):
        list(avro_container.read(BytesIO(header + endless_block)))


def test_any_flipped_byte_gives_records_or_an_error_that_says_so() -> None:
    whole = container(latest("decision-logs-value").definition, [LOG] * 3)
    damaged = 0
    for position in range(0, len(whole), 7):
        data = whole[:position] + bytes([whole[position] ^ 0xA5]) + whole[position + 1 :]
        try:
            list(avro_container.read(BytesIO(data)))
        except ConfigurationError:
            damaged += 1
    assert damaged > 0


def test_a_length_that_no_file_has_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(b"Obj\x01" + b"\x02" + b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f" + b"avro.schema")
    with pytest.raises(ConfigurationError, match="damaged Avro container"), path.open("rb") as stream:
        list(avro_container.read(stream))
