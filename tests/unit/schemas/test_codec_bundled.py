"""The codec without a registry: what it writes it reads, and everything else has a reason."""

from __future__ import annotations

import orjson
import pytest

from schemas.codec import Codec, OutputFormat, Reason, UndecodableError

DECISION = {
    "session_id": "s1",
    "event_id": "s1-e0",
    "task_type": None,
    "meta": {
        "trace_id": "t1",
        "timestamp": 1700000000000,
        "parent_step_id": None,
        "cluster_id": None,
        "round_id": "m1",
        "parent_session_id": None,
        "user_turn": "task",
        "context_change": None,
    },
    "identity": {"agent_id": "agent-1", "agent_type": "coder", "capability_version": None},
    "cognition": None,
    "action": {
        "status": "success",
        "kind": None,
        "tool_call": "read_file",
        "tool_input": None,
        "target": None,
        "content_hash": None,
        "error": None,
        "tool_output_summary": "über",
    },
    "state_delta": None,
    "control": {"hitl_required": False, "interrupt_signal": None, "is_terminal": True},
}


@pytest.fixture
def decoder():
    return Codec.bundled().decoder("decision-logs-value")


def avro(fields=DECISION):
    return Codec.bundled().encoder("decision-logs-value").encode(fields)


def test_reads_the_avro_it_writes(decoder):
    assert decoder.decode(avro(), ()) == DECISION


def test_frame_names_the_bundled_id():
    assert avro()[:5] == b"\x00" + (9001002).to_bytes(4, "big")


def test_absent_optional_fields_are_written_as_null(decoder):
    sparse = {
        "session_id": "s1",
        "event_id": "e",
        "meta": {"trace_id": "t", "timestamp": 0},
        "identity": {"agent_id": "", "agent_type": "a"},
        "action": {"status": "pending"},
    }
    read = decoder.decode(avro(sparse), ())
    assert read["cognition"] is None
    assert read["meta"]["parent_step_id"] is None


def test_a_whole_number_is_accepted_for_a_double(decoder):
    read = decoder.decode(avro(DECISION | {"state_delta": {"tokens_consumed": 5, "progress_delta": 1}}), ())
    assert read["state_delta"]["tokens_consumed"] == 5
    assert isinstance(read["state_delta"]["tokens_consumed"], int)
    assert read["state_delta"]["progress_delta"] == 1.0


@pytest.mark.parametrize("blank", [b"", b" ", b"\n\t\r "])
def test_reads_json(decoder, blank):
    assert decoder.decode(blank + orjson.dumps(DECISION), ()) == DECISION


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, Reason.NULL_VALUE),
        (b"", Reason.UNDECODABLE),
        (b"[1]", Reason.UNDECODABLE),
        (b'"text"', Reason.UNDECODABLE),
        (b"{", Reason.UNDECODABLE),
        (b"{}x", Reason.UNDECODABLE),
        (b'{"a": NaN}', Reason.UNDECODABLE),
        (b'\xef\xbb\xbf{"a": 1}', Reason.UNDECODABLE),
        (b"\x00", Reason.UNDECODABLE),
        (b"\x00\x00\x00\x00", Reason.UNDECODABLE),
        (b"\x00\x00\x00\x00\x07rest", Reason.UNKNOWN_SCHEMA),
        (b"\x01" + bytes(15), Reason.UNDECODABLE),
        (b"\x01" + bytes(16) + b"rest", Reason.UNKNOWN_SCHEMA),
        (b"\x02", Reason.UNDECODABLE),
        (avro()[:-1], Reason.UNDECODABLE),
        (avro() + b"\x00", Reason.UNDECODABLE),
        (b" " * 1_048_577, Reason.OVERSIZE),
    ],
)
def test_everything_else_has_a_reason(decoder, value, reason):
    with pytest.raises(UndecodableError) as caught:
        decoder.decode(value, ())
    assert caught.value.reason is reason


def test_the_largest_value_is_still_accepted():
    value = b'{"a": "' + b"x" * 100 + b'"}'
    assert Codec.bundled(max_value_bytes=len(value)).decoder("decision-logs-value").decode(value, ())
    with pytest.raises(UndecodableError):
        Codec.bundled(max_value_bytes=len(value) - 1).decoder("decision-logs-value").decode(value, ())


def test_json_output_says_so():
    encoder = Codec.bundled(OutputFormat.JSON).encoder("topology-value")
    assert encoder.encode({"id": "x", "state": "idle"}) == b'{"id":"x","state":"idle"}'
    assert encoder.headers == (("content-type", b"application/json"), ("eddy-schema", b"topology-value/1"))
