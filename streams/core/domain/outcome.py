"""What became of one record. Match on the type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.core.domain.aggregates.contribution import Contribution
from streams.core.domain.aggregates.exchange import Handed
from streams.core.domain.aggregates.task_profile import Outlay
from streams.core.domain.decision import Decision
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


class Scored(NamedTuple):
    """The record was applied to its session.

    Attributes:
        decision: the record that was applied.
        enriched: the outbound record: the known fields of the DecisionLog, cognition.entropy_score
            overwritten when the ratio was scored, and the block `eddy` (specification 1.7).
        events: in the order of specification 7.4; one without a topic is in `eddy.events` only.
        node_state: the state of the session's node after the record.
        violations: what was wrong though the record was accepted: at most ``missing_agent_id``
            (specification 5.1).
        contributions: what it adds to the counts across sessions.
        handed: what it adds to the exchanges between sessions.
        outlay: what its session has used, to be compared with others of its kind; None most of the time.
    """

    decision: Decision
    enriched: dict[str, Any]
    events: tuple[Event, ...]
    node_state: str
    violations: tuple[str, ...]
    contributions: tuple[Contribution, ...] = ()
    handed: tuple[Handed, ...] = ()
    outlay: Outlay | None = None


class Duplicate(NamedTuple):
    """The record was applied before, or sent again: no state change, no output (specification 2.4)."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class Rejected:
    """The record is not valid: it goes to the dead letters, and no session hears of it (specification 2.2).

    ``problems`` are field paths in the order of specification 2.1, then ``key``, ``meta.timestamp:future``;
    ``detail`` says for people what is wrong with them and what is allowed, without any value.
    """

    problems: tuple[str, ...]
    detail: str = field(default="", compare=False)
