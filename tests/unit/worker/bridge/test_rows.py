"""Rows of the bridge: what is stored is read again, also as the version before has stored it."""

import orjson

from streams.formats.adapters.otlp.traces import Trace
from streams.worker.bridge.rows import TraceRow, decode, encode

TRACE = Trace("ab", tokens=7, cached=3, rounds={"p": ("m", 5)}, seen={"0" * 16: None})


def test_a_row_is_read_as_it_was_stored() -> None:
    row = TraceRow(0, 7, 1500, TRACE)
    assert decode(encode(row)) == row


def test_a_row_of_the_version_before_is_read_without_rounds() -> None:
    head, _, rest = encode(TraceRow(0, 7, 1500, TRACE)).partition(b"\n")
    before = orjson.dumps([1, *orjson.loads(head)[1:-2]]) + b"\n" + rest
    found = decode(before)
    assert isinstance(found, TraceRow)
    assert (found.trace.tokens, found.trace.cached, found.trace.rounds) == (7, None, {})
