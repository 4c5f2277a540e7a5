"""Recorded messages: JSON lines that keep key, value and timestamp of a Kafka record, broken ones included.

One JSON object per line:

| field | meaning |
|---|---|
| key | the Kafka key as text, null for a message without key; left out: the session id of the value |
| value | the payload: an object is a record (its JSON is the payload), a text is the payload itself |
| value_base64 | instead of value: the payload of a message that is not text |
| timestamp | ms of the Kafka record; left out or null: none |
| about | for the reader of the file; ignored |
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import orjson

from schemas.codec import Codec, Decoder, UndecodableError
from streams.core.entry import Entry, decode_object, session_key
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import CERTAIN, NO, UnitKind, own_format
from streams.formats.adapters.heads import head_objects

_FIELDS: Final = frozenset({"key", "value", "value_base64", "timestamp", "about"})


def read(line: bytes, number: int = 1) -> Iterator[Entry]:
    r"""Yield the entry of a message.

    Raises:
        ConfigurationError: the line is not a recorded message.

    >>> [entry] = read(b'{"key": null, "value": "{broken", "timestamp": 5}')
    >>> entry
    Entry(key=None, timestamp=5, value=None, raw=b'{broken', problem='undecodable', spent={})
    """
    entry = _entry(decode_object(line.strip()) or {}, _decoder())
    if entry is None:
        raise ConfigurationError(f"message {number} is not in the format of recorded messages. Correct it")
    yield entry


def sniff(head: bytes, _name: str) -> int:
    """Recognise objects that have no other fields than a message."""
    objects = head_objects(head)
    if objects and all(each.keys() <= _FIELDS for each in objects):
        return CERTAIN if any({"value", "value_base64"} & each.keys() for each in objects) else NO
    return NO


@cache
def _decoder() -> Decoder:
    return Codec.bundled().decoder("decision-logs-value")


def _entry(envelope: dict[str, Any], decoder: Decoder) -> Entry | None:
    payload = _payload(envelope)
    key, timestamp = envelope.get("key"), envelope.get("timestamp")
    if payload is None or not isinstance(key, str | None) or not isinstance(timestamp, int | None):
        return None
    value, problem = _decoded(payload, decoder)
    return Entry(key if "key" in envelope else session_key(value), timestamp, value, payload, problem)


def _decoded(payload: bytes, decoder: Decoder) -> tuple[dict[str, Any] | None, str | None]:
    """The record of a payload, or None and the reason word a dead letter would carry."""
    try:
        return decoder.decode(payload), None
    except UndecodableError as error:
        return None, error.reason.value


def _payload(envelope: dict[str, Any]) -> bytes | None:
    """The bytes of the value, None when the envelope does not hold any."""
    match envelope:
        case {"value_base64": str(text)}:
            try:
                return b64decode(text, validate=True)
            except binascii.Error:
                return None
        case {"value": str(text)}:
            return text.encode()
        case {"value": dict(value)}:
            try:
                return orjson.dumps(value)
            except orjson.JSONEncodeError:
                return None  # nested deeper than it writes, though not than it reads
        case _:
            return None


FORMAT: Final = own_format("messages", UnitKind.LINES, sniff, read)
