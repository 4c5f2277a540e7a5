"""Whatever the bytes, decoding gives a record or an `UndecodableError`, soon and without much memory."""

from __future__ import annotations

import math
import tracemalloc

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas.bundled import by_id, latest
from schemas.codec import Codec, Reason, UndecodableError
from tests.unit.schemas.samples import fullest, records

SUBJECT = "decision-logs-value"
DECODER = Codec.bundled().decoder(SUBJECT)
ENCODER = Codec.bundled().encoder(SUBJECT)
VALID = ENCODER.encode(fullest(latest(SUBJECT).definition))
HEADERS = st.lists(st.tuples(st.sampled_from(["__value_schema_id", "x"]), st.binary(max_size=20)), max_size=2)
FRAMES = st.sampled_from(
    [b"", b"\x00", b"\x01", b"{", VALID[:5], *(b"\x00" + id_.to_bytes(4, "big") for id_ in by_id())]
)


def outcome(value, headers=()):
    try:
        return DECODER.decode(value, headers)
    except UndecodableError as error:
        return error


@given(FRAMES, st.binary(max_size=200), HEADERS)
def test_random_bytes(frame, data, headers):
    assert isinstance(outcome(frame + data, headers), dict | UndecodableError)


@given(st.data())
def test_mutated_records(data):
    value = bytearray(VALID)
    for _ in range(data.draw(st.integers(1, 5))):
        position = data.draw(st.integers(0, len(value) - 1))
        match data.draw(st.sampled_from(["set", "delete", "insert"])):
            case "set":
                value[position] = data.draw(st.integers(0, 255))
            case "delete" if len(value) > 1:
                del value[position]
            case _:
                value[position:position] = data.draw(st.binary(max_size=4))
    assert isinstance(outcome(bytes(value)), dict | UndecodableError)


def test_truncated_records():
    for length in range(len(VALID)):
        assert isinstance(outcome(VALID[:length]), UndecodableError)


@given(st.integers(5, len(VALID)), st.integers(0, 2**64 - 1))
@example(5, 2**63)
def test_huge_lengths_allocate_nothing(position, length):
    claim = bytearray()
    while length > 0x7F:
        claim.append(length & 0x7F | 0x80)
        length >>= 7
    claim.append(length)
    tracemalloc.start()
    try:
        outcome(VALID[:position] + bytes(claim) + VALID[position:])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 100_000


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=20,
    )
)
def test_json_of_any_kind(value):
    try:
        data = orjson.dumps(value)
    except (TypeError, ValueError):
        return
    read = outcome(data)
    assert isinstance(read, dict) == isinstance(value, dict)


@pytest.mark.parametrize("depth", [1000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_deep_json(opening, closing, depth):
    value = f'{{"x": {opening * depth}1{closing * depth}}}'.encode()
    read = outcome(value)
    assert isinstance(read, dict) == (depth == 1000)


@pytest.mark.parametrize(
    "text", [b'{"a": "\\ud800"}', b'{"a": "\xff"}', b'{"a": 1e999}', b'{"a":1}{"b":2}', b"{'a': 1}"]
)
def test_what_is_not_json_after_all(text):
    error = outcome(text)
    assert error.reason is Reason.UNDECODABLE


def test_not_a_number_is_left_to_validation():
    record = fullest(latest(SUBJECT).definition)
    record["cognition"]["confidence_score"] = math.nan
    assert math.isnan(outcome(ENCODER.encode(record))["cognition"]["confidence_score"])


@given(records(latest(SUBJECT).definition))
@example(
    fullest(latest(SUBJECT).definition) | {"state_delta": {"cumulative_session_cost": math.inf}},
)
def test_avro_and_json_of_a_record_say_the_same(record):
    by_avro = outcome(ENCODER.encode(record))
    by_json = outcome(orjson.dumps(record))

    def without_nulls(value):
        match value:
            case dict():
                inside = {k: without_nulls(v) for k, v in value.items()}
                return {k: v for k, v in inside.items() if v is not None and v is not False}
            case float() if math.isinf(value):
                return None  # JSON has no infinite number: orjson writes null
            case _:
                return value

    if "tokens_consumed" in (record.get("state_delta") or {}):
        # JSON cannot tell 1e20 from an integer that Avro could not hold.
        by_avro["state_delta"].pop("tokens_consumed")
        by_json["state_delta"].pop("tokens_consumed")
    assert without_nulls(by_avro) == without_nulls(by_json)


@given(records(latest(SUBJECT).definition))
def test_the_same_fields_give_the_same_bytes(record):
    again = orjson.loads(orjson.dumps(record))
    if again == record:
        assert ENCODER.encode(again) == ENCODER.encode(record)


def test_messages_carry_no_text_of_the_value():
    secret = b"hunter2"
    for value in (
        b"{" + secret,
        VALID + secret,
        VALID[:20] + secret,
        secret,
        b"\x00\x00\x00\x00\x09" + secret,
    ):
        error = outcome(value)
        assert "hunter2" not in str(error)
