"""One message as a producer would publish it: key, value and timestamp of a Kafka record."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from streams.sources.entry import Entry


class Message(NamedTuple):
    """What goes to the topic. ``timestamp`` in ms; None leaves it to the producer's clock."""

    key: bytes | None
    value: bytes
    timestamp: int | None


def message(entry: Entry) -> Message:
    """The message of one entry: its own bytes where it has some, else its value as JSON.

    >>> message(Entry(key="s1", timestamp=None, value={"session_id": "s1"}, raw=None))
    Message(key=b's1', value=b'{"session_id":"s1"}', timestamp=None)
    """
    return Message(
        key=None if entry.key is None else entry.key.encode(),
        # Bytes, which only Avro has, become a list: no field of a DecisionLog accepts either.
        value=orjson.dumps(entry.value, default=list) if entry.raw is None else entry.raw,
        timestamp=entry.timestamp,
    )
