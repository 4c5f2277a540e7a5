"""The writer made for a schema, held against fastavro."""

from __future__ import annotations

import io

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.avro_writer import compile_writer
from schemas.bundled import latest
from schemas.codec import Codec
from schemas.encoder import UnencodableError, check_fields
from schemas.numbers import SUBJECT_NUMBERS
from tests.unit.schemas.samples import LONG, fullest, records, smallest

WRITERS = {subject: compile_writer(latest(subject).definition) for subject in SUBJECT_NUMBERS}


def by_fastavro(subject, record):
    data = io.BytesIO()
    fastavro.schemaless_writer(data, latest(subject).parsed, record)
    return data.getvalue()


@pytest.mark.parametrize("subject", SUBJECT_NUMBERS)
@given(data=st.data())
def test_writes_the_bytes_fastavro_writes(subject, data):
    record = data.draw(records(latest(subject).definition))
    assert WRITERS[subject](record) == by_fastavro(subject, record)


@pytest.mark.parametrize("make", [smallest, fullest])
@pytest.mark.parametrize("subject", SUBJECT_NUMBERS)
def test_writes_the_smallest_and_the_fullest_record(subject, make):
    record = make(latest(subject).definition)
    assert WRITERS[subject](record) == by_fastavro(subject, record)


@given(LONG)
def test_every_long(number):
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]}
    data = io.BytesIO()
    fastavro.schemaless_writer(data, schema, {"a": number})
    assert compile_writer(schema)({"a": number}) == data.getvalue()


@pytest.mark.parametrize("number", [4095, 4096, -1, 63, 64, 2**63 - 1, -(2**63)])
def test_longs_at_the_edges_of_the_table(number):
    test_every_long.hypothesis.inner_test(number)


@pytest.mark.parametrize("length", [0, 63, 64, 4095, 4096, 1_000_000])
def test_texts_of_every_length(length):
    record = {**smallest(latest("topology-value").definition), "state": "é" * length}
    assert WRITERS["topology-value"](record) == by_fastavro("topology-value", record)


def test_a_tuple_is_a_list():
    record = fullest(latest("session-alerts-value").definition)
    as_tuple = record | {"signature": tuple(record["signature"])}
    assert WRITERS["session-alerts-value"](as_tuple) == WRITERS["session-alerts-value"](record)


def test_numbers_take_their_own_branch():
    decode = Codec.bundled().decoder("decision-logs-value").decode
    base = smallest(latest("decision-logs-value").definition)

    def back(tokens):
        record = base | {"state_delta": {"tokens_consumed": tokens}}
        value = Codec.bundled().encoder("decision-logs-value").encode(record)
        return decode(value)["state_delta"]["tokens_consumed"]

    assert repr(back(5)) == "5"
    assert repr(back(5.0)) == "5.0"
    assert repr(back(2**63 - 1)) == "9223372036854775807"
    assert repr(back(2**63)) == "9.223372036854776e+18"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"timestamp": "soon"}, "timestamp: not long"),
        ({"timestamp": 2**63}, "timestamp: not long"),
        ({"timestamp": None}, "timestamp: not long"),
        ({"state": None}, "state: not string"),
        ({"state": 5}, "state: not string"),
        ({"state": "\ud800"}, "a text or number that Avro cannot hold"),
    ],
)
def test_what_does_not_fit_is_named_by_path_and_not_by_value(change, path):
    record = fullest(latest("topology-value").definition) | change
    with pytest.raises(UnencodableError) as caught:
        Codec.bundled().encoder("topology-value").encode(record)
    assert str(caught.value) == f"topology-value/1: {path}"


def test_a_missing_field_is_named():
    record = fullest(latest("topology-value").definition)
    del record["color"]
    with pytest.raises(UnencodableError, match="color: missing"):
        Codec.bundled().encoder("topology-value").encode(record)


def test_a_number_too_large_for_a_double_is_refused():
    record = fullest(latest("entropy-alerts-value").definition) | {"entropy_score": 10**400}
    with pytest.raises(UnencodableError):
        Codec.bundled().encoder("entropy-alerts-value").encode(record)


def test_unknown_fields_are_left_out_and_can_be_found():
    record = fullest(latest("decision-logs-enriched-value").definition)
    more = record | {"eddy": record["eddy"] | {"new": 1}, "old": 2}
    encode = Codec.bundled().encoder("decision-logs-enriched-value").encode
    assert encode(more) == encode(record)
    check_fields("decision-logs-enriched-value", record)
    with pytest.raises(UnencodableError, match=r"old: unknown, eddy\.new: unknown"):
        check_fields("decision-logs-enriched-value", more)


@pytest.mark.parametrize("type_", ["bytes", ["string", "null"], {"type": "fixed", "name": "F", "size": 2}])
def test_types_no_schema_of_ours_has_are_refused_when_the_writer_is_made(type_):
    with pytest.raises(TypeError):
        compile_writer({"type": "record", "name": "R", "fields": [{"name": "a", "type": type_}]})
