"""What is told to others: findings of the detectors, and the events made of them (specification 7)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from streams.domain.topic import Topic


class EventKind(StrEnum):
    """The `event_type` of an event. Members stand in the order of specification 7.4."""

    ENTROPY_ALERT = "entropy_alert"
    LOOP_EPISODE = "loop_episode"
    DIVERGENCE_SUSPECTED = "divergence_suspected"
    DRIFT_PATTERN = "drift_pattern"
    BUDGET = "budget"
    RESPONSE = "response"
    NODE_STATE = "node_state"


class Finding(NamedTuple):
    """What a detector has to tell about one record: the part of an event that is its own.

    The pipeline adds the common fields and the id. ``sub`` is the last part of the id where a kind has
    one (specification 7.5): a phase, ``pattern/phase`` or a node state; empty where it has none.
    """

    kind: EventKind
    fields: Mapping[str, Any]
    sub: str = ""


class Event(NamedTuple):
    """One event of a record. ``topic`` is None when it is told only in `eddy.events` of the enriched record.

    ``fields`` are flat: id, event_type, session_id, agent_id, event_id, timestamp (ms), partition, offset
    and the fields of its kind (specification 7.1).
    """

    topic: Topic | None
    fields: dict[str, Any]
