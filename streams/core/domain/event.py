"""What a record leads to: findings of the detectors, and the events made of them (specification 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from streams.core.domain.event_kind import EventKind
from streams.core.domain.topic import Topic

__all__ = ["Event", "EventKind", "Finding"]


class Finding(NamedTuple):
    """What a detector reports about one record: the part of an event that is its own.

    The pipeline adds the common fields and the id (specification 7.5).
    """

    kind: EventKind
    fields: Mapping[str, Any]


class Event(NamedTuple):
    """One event of a record. ``topic`` is None for one that is only in `eddy.events` of the enriched record.

    ``fields`` are flat: id, event_type, session_id, agent_id, event_id, timestamp (ms), partition, offset
    and the fields of its kind (specification 7.1).
    """

    topic: Topic | None
    fields: dict[str, Any]
