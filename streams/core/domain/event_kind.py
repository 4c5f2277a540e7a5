"""The kinds of events, and where each goes (specification 7.1, 7.4, 7.5)."""

# Written by `python -m topics` from topics/topics.yaml: change that file, not this one.

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from streams.core.domain.topic import Topic


class EventKind(StrEnum):
    """The `event_type` of an event. Members are in the order in which one record emits them."""

    ENTROPY_ALERT = "entropy_alert"
    LOOP_EPISODE = "loop_episode"
    DIVERGENCE_SUSPECTED = "divergence_suspected"
    DRIFT_PATTERN = "drift_pattern"
    HANDOVER_LOOP = "handover_loop"
    SILENT_SESSION = "silent_session"
    OVERSPENDING = "overspending"
    BUDGET = "budget"
    RESPONSE = "response"
    NODE_STATE = "node_state"


#: The topic of each kind.
TOPIC_OF: Mapping[EventKind, Topic] = MappingProxyType(
    {
        EventKind.ENTROPY_ALERT: Topic.ENTROPY_ALERTS,
        EventKind.LOOP_EPISODE: Topic.SESSION_ALERTS,
        EventKind.DIVERGENCE_SUSPECTED: Topic.SESSION_ALERTS,
        EventKind.DRIFT_PATTERN: Topic.SESSION_ALERTS,
        EventKind.HANDOVER_LOOP: Topic.SESSION_ALERTS,
        EventKind.SILENT_SESSION: Topic.SESSION_ALERTS,
        EventKind.OVERSPENDING: Topic.SESSION_ALERTS,
        EventKind.BUDGET: Topic.SESSION_BUDGETS,
        EventKind.RESPONSE: Topic.SESSION_RESPONSES,
        EventKind.NODE_STATE: Topic.TOPOLOGY,
    }
)

#: The kinds that the setting `alert_families` can switch off; all others are always published.
ALERT_FAMILIES = (
    EventKind.ENTROPY_ALERT,
    EventKind.LOOP_EPISODE,
    EventKind.DIVERGENCE_SUSPECTED,
    EventKind.DRIFT_PATTERN,
    EventKind.HANDOVER_LOOP,
)

#: The fields at the end of an event's id.
ID_FIELDS: Mapping[EventKind, tuple[str, ...]] = MappingProxyType(
    {
        EventKind.ENTROPY_ALERT: (),
        EventKind.LOOP_EPISODE: ("phase",),
        EventKind.DIVERGENCE_SUSPECTED: (),
        EventKind.DRIFT_PATTERN: ("pattern", "phase"),
        EventKind.HANDOVER_LOOP: ("level",),
        EventKind.SILENT_SESSION: ("phase",),
        EventKind.OVERSPENDING: ("rule", "phase"),
        EventKind.BUDGET: (),
        EventKind.RESPONSE: (),
        EventKind.NODE_STATE: ("state",),
    }
)
