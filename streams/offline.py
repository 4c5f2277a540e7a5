"""The pipeline over a file: what the worker does, without Kafka.

A file stands for partition 0 of the input topic, and a record's number, from 0 and over all files, for its
offset; a record that cannot be decoded or is refused has a number like any other. As these numbers only
rise, no record of a file is ever a duplicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from streams.domain.detection_settings import DetectionSettings
from streams.domain.outcome import Duplicate, Rejected, Scored
from streams.domain.record import Record
from streams.domain.session import Session
from streams.pipeline import admit, step
from streams.sources.entry import UNDECODABLE, Entry

PARTITION = 0


class Judgement(NamedTuple):
    """What became of one input record. The ids are as reported, None where they are not text."""

    offset: int
    session_id: str | None
    event_id: str | None
    outcome: Scored | Duplicate | Rejected


def judge(entries: Iterable[Entry], settings: DetectionSettings) -> Iterator[Judgement]:
    """Judge every record, in order. Memory grows with the number of sessions, not with that of records."""
    sessions: dict[str, Session] = {}
    for offset, entry in enumerate(entries):
        if entry.value is None:
            yield Judgement(offset, None, None, Rejected((entry.problem or UNDECODABLE,)))
            continue
        admitted = admit(Record(PARTITION, offset, entry.key, entry.timestamp, entry.value), settings)
        if isinstance(admitted, Rejected):
            session_id, event_id = _text(entry.value.get("session_id")), _text(entry.value.get("event_id"))
            yield Judgement(offset, session_id, event_id, admitted)
            continue
        session, outcome = step(sessions.get(admitted.session_id), admitted, settings)
        sessions[admitted.session_id] = session
        yield Judgement(offset, admitted.session_id, admitted.event_id, outcome)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
