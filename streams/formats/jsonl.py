"""JSON lines: one DecisionLog per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streams.core.entry import Entry, decode_object, session_key, undecodable
from streams.formats.adapters.adapter import CERTAIN, NO, UnitKind, own_format
from streams.formats.adapters.heads import head_objects

_GUESS: Final = 10
"""How sure this format is of records that lack fields: any other format that fits is surer."""


def read(line: bytes, _number: int = 1) -> Iterator[Entry]:
    r"""Yield the entry of a line: one without a value if the line is not a JSON object.

    >>> [entry.value for line in (b'{"session_id": "s1"}', b"not json") for entry in read(line)]
    [{'session_id': 's1'}, None]
    """
    text = line.strip()
    value = decode_object(text)
    if value is None:
        yield undecodable(text)
    else:
        yield Entry(key=session_key(value), timestamp=None, value=value, raw=text)


def sniff(head: bytes, _name: str) -> int:
    """Recognise decision logs, and guess at objects that name a session or an event."""
    found = NO
    if b'"session_id"' not in head and b'"event_id"' not in head:
        return found
    for each in head_objects(head):
        if {"session_id", "event_id", "action"} <= each.keys():
            return CERTAIN
        if "session_id" in each or {"event_id", "identity"} <= each.keys():
            found = _GUESS
    return found


FORMAT: Final = own_format("jsonl", UnitKind.LINES, sniff, read)
