"""From an enriched record back to the outcome that was written into it."""

from __future__ import annotations

from typing import Any

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.decision import Decision
from streams.core.domain.event import Event
from streams.core.domain.event_kind import EventKind
from streams.core.domain.outcome import Scored
from streams.core.policy.routing import topic_of


def scored_again(enriched: dict[str, Any]) -> Scored:
    """Return the outcome that this record was made from."""
    eddy = enriched["eddy"]
    _, partition, offset, _ = eddy["id"].rsplit("/", 3)
    known = {name: value for name, value in enriched.items() if name != "eddy"}
    events = tuple(
        Event(topic_of(EventKind(fields["event_type"]), fields, DEFAULTS), fields)
        for fields in eddy["events"]
    )
    return Scored(Decision.of(int(partition), int(offset), known), enriched, events, "", ())
