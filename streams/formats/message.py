"""One message as a producer would publish it: key, value and timestamp of a Kafka record."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from streams.core.entry import Entry
from streams.core.errors import ConfigurationError


class TopicMessage(NamedTuple):
    """What goes to the topic. ``timestamp`` in ms; None leaves it to the producer's clock."""

    key: bytes | None
    value: bytes
    timestamp: int | None


def message(entry: Entry) -> TopicMessage:
    """The message of one entry: its own bytes where it has some, else its value as JSON.

    Raises:
        ConfigurationError: the value is nested too deeply to be written.

    >>> message(Entry(key="s1", timestamp=None, value={"session_id": "s1"}, raw=None))
    TopicMessage(key=b's1', value=b'{"session_id":"s1"}', timestamp=None)
    """
    key = None if entry.key is None else entry.key.encode()
    try:
        # Bytes, which only Avro has, become a list: no field of a DecisionLog accepts either.
        value = orjson.dumps(entry.value, default=list) if entry.raw is None else entry.raw
    except orjson.JSONEncodeError as error:
        raise ConfigurationError(f"a record cannot be written as JSON ({error}). Correct the file") from error
    return TopicMessage(key, value, entry.timestamp)
