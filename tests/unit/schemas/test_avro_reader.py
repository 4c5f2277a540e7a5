"""The reader made for a pair of schemas, held against fastavro."""

from __future__ import annotations

import io
import struct

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.avro_bytes import MalformedError
from schemas.avro_cost import UnreadableSchemaError
from schemas.avro_reader import compile_reader
from schemas.bundled import latest
from schemas.numbers import SUBJECT_NUMBERS
from tests.unit.schemas.samples import fullest, records

REFUSALS = (MalformedError, IndexError, struct.error, UnicodeDecodeError)


def written(schema, record):
    data = io.BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(schema), record)
    return data.getvalue()


def reader(writer, target=None):
    parsed = fastavro.parse_schema(writer)
    return compile_reader(parsed, parsed if target is None else fastavro.parse_schema(target))


READERS = {subject: reader(latest(subject).definition) for subject in SUBJECT_NUMBERS}


def record_of(**types):
    return {
        "type": "record",
        "name": "R",
        "namespace": "n",
        "fields": [{"name": name, "type": type_} for name, type_ in types.items()],
    }


@pytest.mark.parametrize("subject", SUBJECT_NUMBERS)
@given(data=st.data())
def test_reads_what_fastavro_writes(subject, data):
    schema = latest(subject).definition
    value = written(schema, data.draw(records(schema)))
    expected = fastavro.schemaless_reader(io.BytesIO(value), latest(subject).parsed)
    read, end = READERS[subject](b"\xff" + value, 1)
    assert (read, end) == (expected, len(value) + 1)
    assert list(read) == list(expected)


@pytest.mark.parametrize("subject", SUBJECT_NUMBERS)
@given(data=st.data())
def test_whatever_it_accepts_fastavro_reads_the_same(subject, data):
    schema = latest(subject).definition
    value = bytearray(written(schema, fullest(schema)))
    for _ in range(data.draw(st.integers(1, 3))):
        value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
    try:
        read, end = READERS[subject](bytes(value), 0)
    except REFUSALS:
        return
    if end <= len(value):
        assert repr(read) == repr(fastavro.schemaless_reader(io.BytesIO(value), latest(subject).parsed))


@pytest.mark.parametrize("subject", SUBJECT_NUMBERS)
def test_no_truncated_record_is_taken_for_a_whole_one(subject):
    schema = latest(subject).definition
    value = written(schema, fullest(schema))
    for length in range(len(value)):
        try:
            _, end = READERS[subject](value[:length], 0)
        except REFUSALS:
            continue
        assert end > length


EVERY_TYPE = record_of(
    flag="boolean",
    count="int",
    single="float",
    double="double",
    raw="bytes",
    word={"type": "enum", "name": "Word", "symbols": ["A", "B"]},
    mark={"type": "fixed", "name": "Mark", "size": 3},
    again=["null", "n.Word", "n.Mark"],
    numbers={"type": "array", "items": "double"},
    table={"type": "map", "values": ["null", "long"]},
    rows={"type": "array", "items": record_of(x="int") | {"name": "Row"}},
    nothing="null",
    text={"type": "string", "logicalType": "uuid"},
)
EVERY_VALUE = {
    "flag": True,
    "count": -5,
    "single": 0.5,
    "double": 1e300,
    "raw": b"\xff\x00",
    "word": "B",
    "mark": b"abc",
    "again": "A",
    "numbers": [0.0, -1.5],
    "table": {"a": None, "b": 2**40},
    "rows": [{"x": 1}, {"x": 2}],
    "nothing": None,
    "text": "123e4567-e89b-12d3-a456-426614174000",
}


def test_reads_every_type_avro_has():
    value = written(EVERY_TYPE, EVERY_VALUE)
    assert reader(EVERY_TYPE)(value, 0) == (EVERY_VALUE, len(value))


def test_reads_over_what_the_target_does_not_know():
    value = written(EVERY_TYPE, EVERY_VALUE)
    target = record_of(text="string")
    assert reader(EVERY_TYPE, target)(value, 0) == ({"text": EVERY_VALUE["text"]}, len(value))


def test_reads_into_nested_records():
    inner = record_of(keep="int", drop="int") | {"name": "Inner"}
    target_inner = record_of(keep="int") | {"name": "Inner"}
    writer = record_of(one=inner, maybe=["null", "n.Inner"], some={"type": "array", "items": "n.Inner"})
    target = record_of(
        one=target_inner, maybe=["null", "n.Inner"], some={"type": "array", "items": target_inner}
    )
    target["fields"][2]["type"]["items"] = "n.Inner"
    full = {"keep": 1, "drop": 2}
    value = written(writer, {"one": full, "maybe": full, "some": [full]})
    read, _ = reader(writer, target)(value, 0)
    assert read["one"] == {"keep": 1}


def test_absent_fields_get_the_default_of_the_target():
    target = record_of(a="int")
    target["fields"] += [
        {"name": "b", "type": ["null", "string"], "default": None},
        {"name": "c", "type": {"type": "array", "items": "string"}, "default": []},
        {"name": "d", "type": "boolean", "default": False},
        {"name": "e", "type": "string"},
    ]
    read, _ = reader(record_of(a="int"), target)(b"\x02", 0)
    assert read == {"a": 1, "b": None, "c": [], "d": False}
    again, _ = reader(record_of(a="int"), target)(b"\x02", 0)
    assert again["c"] is not read["c"]


def test_blocks_with_their_size_in_bytes():
    schema = record_of(a={"type": "array", "items": "string"})
    assert reader(schema)(b"\x03\x08\x02x\x02y\x02\x02z\x00", 0) == ({"a": ["x", "y", "z"]}, 10)


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        ("string", b"\x01"),
        ("string", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        ("string", b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"),
        ("string", b"\x02\xff"),
        ("long", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
        ("long", b"\x80"),
        ("boolean", b"\x02"),
        ("double", b"1234567"),
        (["null", "string"], b"\x04"),
        (["null", "string"], b"\x01"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x02"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x01"),
        ({"type": "array", "items": "string"}, b"\x01\x01"),
    ],
)
def test_malformed_data_is_refused(type_, data):
    with pytest.raises(REFUSALS):
        reader(record_of(a=type_))(data, 0)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("target", [None, record_of(z="int")], ids=["read", "read over"])
@pytest.mark.parametrize(
    "items", ["double", "boolean", "string", "long", {"type": "fixed", "name": "F", "size": 3}]
)
@pytest.mark.parametrize("kind", [{"type": "array", "items": None}, {"type": "map", "values": None}])
def test_a_list_that_claims_to_be_endless_ends_with_the_bytes(kind, items, target):
    schema = record_of(a={key: items if value is None else value for key, value in kind.items()})
    claim = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    try:
        _, end = reader(schema, target)(claim + b"\x00" * 100, 0)
    except REFUSALS:
        return
    assert end > len(claim) + 100


def test_a_type_that_contains_itself_is_refused():
    schema = record_of(next=["null", "n.R"])
    with pytest.raises(UnreadableSchemaError, match=r"n\.R contains itself"):
        reader(schema)


@pytest.mark.parametrize(
    "items",
    [
        "null",
        {"type": "null"},
        record_of() | {"name": "Empty"},
        record_of(a="null") | {"name": "OnlyNull"},
        {"type": "fixed", "name": "F", "size": 0},
    ],
)
def test_a_list_of_nothing_is_refused(items):
    with pytest.raises(UnreadableSchemaError, match="no bytes"):
        reader(record_of(a={"type": "array", "items": items}))


@pytest.mark.parametrize("branches", [0, 65])
def test_a_union_whose_index_is_not_one_byte_is_refused(branches):
    union = [record_of(a="int") | {"name": f"R{number}"} for number in range(branches)]
    with pytest.raises(UnreadableSchemaError, match=f"union of {branches} branches"):
        reader(record_of(a=union))


def test_a_type_of_less_than_no_bytes_is_refused():
    # A list of them would be read without end, each item a little before the other.
    backwards = {"type": "fixed", "name": "F", "size": -2}
    with pytest.raises(UnreadableSchemaError, match=r"F has -2 bytes"):
        reader(record_of(a={"type": "array", "items": backwards}))


def test_a_union_may_have_64_branches():
    union = [{"type": "fixed", "name": f"F{number}", "size": number} for number in range(64)]
    assert reader(record_of(a=union))(b"\x7e" + bytes(63), 0) == ({"a": bytes(63)}, 64)


@pytest.mark.parametrize("schema", ["string", ["null", "string"], {"type": "array", "items": "int"}])
def test_a_schema_that_is_no_record_is_refused(schema):
    with pytest.raises(UnreadableSchemaError, match="not a record"):
        reader(schema, record_of(a="int"))


def doubling(levels, leaf="null"):
    """A record that holds two of a record that holds two of a record..."""
    schema = record_of(a=leaf) | {"name": "R0"}
    for level in range(1, levels):
        schema = record_of(x=schema, y=f"n.R{level - 1}") | {"name": f"R{level}"}
    return schema


def made(read):
    return [value for name, value in read.__globals__.items() if name[0] == "r" and name[1:].isdigit()]


def test_a_type_used_often_is_compiled_once():
    # Once into its target, once for a field the target does not know.
    assert len(made(reader(doubling(10)))) < 20


@pytest.mark.timeout(60)
@pytest.mark.parametrize("leaf", ["null", "int", ["null", "int"]])
@pytest.mark.parametrize("inside", ["a record", "a list", "a map", "a union"])
def test_a_schema_that_doubles_at_each_level_is_refused(leaf, inside):
    schema = doubling(41, leaf)
    match inside:
        case "a list":
            schema = record_of(a={"type": "array", "items": schema})
        case "a map":
            schema = record_of(a={"type": "map", "values": schema})
        case "a union":
            schema = record_of(a=["null", schema])
    with pytest.raises(UnreadableSchemaError, match=r"more values than the limit of 100000"):
        reader(schema)


def test_a_schema_of_very_many_fields_is_refused_at_once():
    with pytest.raises(UnreadableSchemaError, match="more types than the limit of 5000"):
        reader(record_of(**{f"f{number}": "string" for number in range(20_000)}))


def test_a_schema_of_many_fields_is_read():
    schema = record_of(**{f"f{number}": ["null", "string"] for number in range(1_500)})
    assert reader(schema)(bytes(1_500), 0) == ({f"f{number}": None for number in range(1_500)}, 1_500)


def test_records_that_name_one_another_in_a_long_chain_are_refused():
    # No JSON value is deep: each record names the one before it. Reading them would end Python's stack.
    links = [record_of(a="int") | {"name": "L0"}]
    links += [record_of(a=f"n.L{number - 1}") | {"name": f"L{number}"} for number in range(1, 1_000)]
    with pytest.raises(UnreadableSchemaError, match="more than 100 of its types are inside one another"):
        reader(record_of(**{f"f{number}": link for number, link in enumerate(links)}))


def test_a_chain_of_fifty_records_is_read():
    schema, value = record_of(a="int") | {"name": "L0"}, {"a": -1}
    for number in range(1, 50):
        schema, value = record_of(a=schema) | {"name": f"L{number}"}, {"a": value}
    assert reader(schema)(b"\x01", 0) == (value, 1)


def test_an_enum_that_is_used_often_is_not_spelled_out_each_time():
    enum = {"type": "enum", "name": "E", "symbols": [f"S{number}" for number in range(5_000)]}
    schema = record_of(first=enum, **{f"f{number}": "n.E" for number in range(2_000)})
    value, _ = reader(schema)(b"\x8e\x4e" * 2_001, 0)
    assert set(value.values()) == {"S4999"}


BIG = record_of(**{f"f{number}": "null" for number in range(90)}, mark="boolean") | {"name": "Big"}


@pytest.mark.parametrize("target", [None, record_of(z="int")], ids=["read", "read over"])
@pytest.mark.parametrize(
    ("type_", "data"),
    [
        ({"type": "array", "items": BIG}, b"\x80\x80\x01" + bytes(8_192)),
        ({"type": "array", "items": ["null", BIG]}, b"\x80\x80\x01" + b"\x02\x00" * 8_192),
        ({"type": "map", "values": BIG}, b"\x80\x80\x01" + bytes(2 * 8_192)),
        ({"type": "map", "values": record_of() | {"name": "Empty"}}, b"\x80\x80\x02" + bytes(16_384)),
    ],
    ids=["list", "list of a union", "map", "map to nothing"],
)
def test_lists_whose_values_outweigh_their_bytes_are_refused(type_, data, target):
    with pytest.raises(MalformedError, match="limit of 100000 and 2 for each byte"):
        reader(record_of(a=type_), target)(data + b"\x00", 0)


@pytest.mark.parametrize(
    ("items", "item"),
    [("boolean", b"\x01"), ("string", b"\x02x"), (["null", BIG], b"\x00"), ("double", bytes(8))],
)
def test_a_long_list_is_read_whatever_else_its_items_could_be(items, item):
    data = b"\x80\x89\x7a" + item * 1_000_000 + b"\x00"
    value, end = reader(record_of(a={"type": "array", "items": items}))(data, 0)
    assert (len(value["a"]), end) == (1_000_000, len(data))


def test_each_record_may_spend_as_much_as_the_one_before_it():
    read = reader(record_of(a={"type": "array", "items": BIG}))
    data = b"\x88\x0e" + bytes(900) + b"\x00"
    for _ in range(3):
        value, end = read(data, 0)
        assert (len(value["a"]), end) == (900, len(data))
