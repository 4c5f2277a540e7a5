"""Which schema a value names."""

from __future__ import annotations

from uuid import UUID

import pytest

from schemas.codec import Codec, Reason, UndecodableError
from schemas.wire_format import Framed, framing, named_schema, prefix

GUID = UUID("89791762-2336-4186-9674-299b90a802e2")


@pytest.mark.parametrize(
    ("value", "headers", "framed"),
    [
        (b"\x00\x00\x00\x01\x02data", (), Framed(258, 5)),
        (b"\x00\xff\xff\xff\xff", (), Framed(2**32 - 1, 5)),
        (b"\x01" + GUID.bytes + b"data", (), Framed(GUID, 17)),
        (b"{}", (), None),
        (b" \t\r\n{", (), None),
        (b"{}", [("__value_schema_id", b"\x00\x00\x00\x00\x07")], Framed(7, 0)),
        (
            b"\x00\x00\x00\x00\x08",
            [("x", b"y"), ("__value_schema_id", b"\x01" + GUID.bytes)],
            Framed(GUID, 0),
        ),
        (b"{}", [("__key_schema_id", b"\x00\x00\x00\x00\x07")], None),
    ],
)
def test_the_schema_of_a_value(value, headers, framed):
    assert framing(value, headers) == framed
    assert named_schema(value, headers) == (None if framed is None else framed.schema)


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        (b"", ()),
        (b"text", ()),
        (b"  ", ()),
        (b"\x00\x00\x00\x00", ()),
        (b"\x01" + GUID.bytes[:-1], ()),
        (b"\x02\x00\x00\x00\x00", ()),
        (b"{}", [("__value_schema_id", b"")]),
        (b"{}", [("__value_schema_id", None)]),
        (b"{}", [("__value_schema_id", b"\x00\x00")]),
        (b"{}", [("__value_schema_id", GUID.bytes)]),
    ],
)
def test_no_schema_at_all(value, headers):
    assert named_schema(value, headers) is None
    with pytest.raises(UndecodableError) as caught:
        framing(value, headers)
    assert caught.value.reason is Reason.UNDECODABLE


def test_the_prefix_is_read_back():
    assert framing(prefix(9001001) + b"data", ()) == Framed(9001001, 5)


def test_without_a_registry_the_reason_says_so():
    with pytest.raises(UndecodableError, match="no schema registry is configured"):
        Codec.bundled().decoder("decision-logs-value").decode(prefix(7), ())
