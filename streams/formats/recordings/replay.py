"""The recordings as the messages of a topic, in the order their producers sent them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from streams.core.entry import Entry
from streams.formats.reading import TopicMessage, entries, message
from streams.formats.recordings.catalogue import RECORDINGS, Recording


def messages(
    recordings: Iterable[Recording] = RECORDINGS, *, first_timestamp: int | None = None
) -> Iterator[TopicMessage]:
    """Every message of the recordings, interleaved by time: the sessions run side by side, as in production.

    The order is the same each time. The timestamp of a message is the one recorded with it, else that of
    its record.

    Args:
        recordings: the recordings to interleave.
        first_timestamp: when the first message is sent, ms since 1970; all times, those within the records
            too, move with it. None keeps the recorded times.
    """
    timed = [_timed(entries([str(recording.path)], recording.input_format)) for recording in recordings]
    shift: int | None = None if first_timestamp is not None else 0
    for timestamp, entry in heapq.merge(*timed, key=itemgetter(0)):
        if shift is None:
            shift = (first_timestamp or 0) - timestamp
        yield message(_moved(entry, timestamp, shift))


def _timed(recorded: Iterable[Entry]) -> Iterator[tuple[int, Entry]]:
    """Each entry with its time; one that tells none happened when the one before it did."""
    now = 0
    for entry in recorded:
        reported = _meta(entry.value).get("timestamp") if entry.timestamp is None else entry.timestamp
        now = reported if isinstance(reported, int) else now
        yield now, entry


def _moved(entry: Entry, timestamp: int, shift: int) -> Entry:
    reported = _meta(entry.value).get("timestamp")
    if entry.value is None or not shift or not isinstance(reported, int):
        return entry._replace(timestamp=timestamp + shift)
    meta = {**_meta(entry.value), "timestamp": reported + shift}
    return entry._replace(timestamp=timestamp + shift, value={**entry.value, "meta": meta}, raw=None)


def _meta(value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    meta = (value or {}).get("meta")
    return meta if isinstance(meta, dict) else {}
