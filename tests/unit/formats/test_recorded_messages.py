"""Recorded messages keep what a Kafka record has besides its value."""

import pytest

from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats import recorded_messages


def read(line: bytes) -> Entry:
    [entry] = recorded_messages.read(line)
    return entry


def test_key_value_and_timestamp_are_as_recorded() -> None:
    entry = read(b'{"about":"odd","key":"other","value":{"session_id":"s1"},"timestamp":5}')
    assert entry == Entry("other", 5, {"session_id": "s1"}, b'{"session_id":"s1"}')


def test_a_key_left_out_is_the_session() -> None:
    assert read(b'{"value":{"session_id":"s1"}}').key == "s1"


def test_a_null_key_is_no_key() -> None:
    assert read(b'{"key":null,"value":{"session_id":"s1"}}').key is None


def test_a_text_value_is_the_payload_itself() -> None:
    assert read(b'{"value":"{\\"session_id\\":\\"s1\\"}"}').value == {"session_id": "s1"}
    assert read(b'{"key":"s1","value":"{cut"}').problem == "undecodable"


def test_bytes_are_recorded_in_base64() -> None:
    entry = read(b'{"key":"s1","value_base64":"AAAGeTIC"}')
    assert entry.raw == b"\x00\x00\x06\x79\x32\x02"
    assert (entry.value, entry.problem) == (None, "unknown_schema")


@pytest.mark.parametrize(
    "line",
    [
        b"broken",
        b"[]",
        b"{}",
        b'{"key":"s1"}',
        b'{"value":7}',
        b'{"value":null}',
        b'{"value_base64":"?"}',
        b'{"value":"x","key":7}',
        b'{"value":"x","timestamp":"now"}',
        b'{"value":{"a":' + b"[" * 300 + b"]" * 300 + b"}}",
    ],
)
def test_a_line_in_another_format_is_an_error_that_counts_the_messages(line: bytes) -> None:
    adapter = recorded_messages.FORMAT.start("a.jsonl")
    [entry] = adapter.feed(b'{"value":"x"}')
    assert isinstance(entry, Entry)
    assert entry.raw == b"x"
    with pytest.raises(ConfigurationError, match="message 2"):
        list(adapter.feed(line))
