"""One record of an input file, decoded as far as it can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

UNDECODABLE: Final = "undecodable"
"""The problem of bytes that are not a JSON object."""


class Entry(NamedTuple):
    """What one record of a file says, before anybody has checked it.

    ``value`` is None when the bytes are not a record at all; ``problem`` is then the word for what they are.
    ``raw`` holds the bytes as they stand in the
    file; None where the file format has none of its own per record (Avro blocks, mapped trajectories).
    ``timestamp`` is that of the Kafka record in ms; only recorded messages have one. ``spent``
    has the tokens of the session so far by model, as `streams.formats.prices` takes them; mostly empty.
    """

    key: str | None
    timestamp: int | None
    value: Mapping[str, Any] | None
    raw: bytes | None
    problem: str | None = None
    spent: Mapping[str, Sequence[int]] = {}


def undecodable(raw: bytes) -> Entry:
    """The entry of bytes that are not a record."""
    return Entry(key=None, timestamp=None, value=None, raw=raw, problem=UNDECODABLE)


def session_key(value: Mapping[str, Any] | None) -> str | None:
    """The key a well-behaved producer would have used: the session id, None when there is none.

    >>> session_key({"session_id": "s1"}), session_key({"session_id": 7}), session_key(None)
    ('s1', None, None)
    """
    session_id = value.get("session_id") if value is not None else None
    return session_id if isinstance(session_id, str) else None


def decode_object(raw: bytes) -> dict[str, Any] | None:
    """The JSON object these bytes hold, None when they hold anything else.

    >>> decode_object(b'{"a": 1}'), decode_object(b"[1]"), decode_object(b"{")
    ({'a': 1}, None, None)
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
