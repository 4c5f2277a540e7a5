"""What two judgements of the same record, under different settings, differ in. For people: A against B.

The comparison covers what people act on: levels, the node, what the budget does, what is published. It leaves
out scores, window sizes and the version of the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from streams.core.domain.outcome import Duplicate, Rejected, Scored

Outcome = Scored | Duplicate | Rejected


class DifferenceKind(StrEnum):
    """What may differ. Members stand in the order in which they are told."""

    OUTCOME = "outcome"
    SEVERITY = "severity"
    NODE_STATE = "node_state"
    VERDICT_LEVEL = "verdict_level"
    VERDICT_RULE = "verdict_rule"
    DRIFT_LEVEL = "drift_level"
    BUDGET_ADJUSTED_BY = "budget_adjusted_by"
    BUDGET_EMERGENCY = "budget_emergency"
    BUDGET_EXHAUSTED = "budget_exhausted"
    EVENTS = "events"


class PublishedEvent(NamedTuple):
    """A published event, by what identifies it."""

    event_type: str
    id: str


class FieldDifference(NamedTuple):
    """One thing that differs, in both words; None where there is none."""

    kind: DifferenceKind
    a: str | None
    b: str | None


class Difference(NamedTuple):
    """What differs for one record.

    Attributes:
        fields: what differs, in the order of `DifferenceKind`, without the events.
        only_a, only_b: published under one settings document and not under the other, each in the order of
            specification 7.4.
    """

    fields: tuple[FieldDifference, ...]
    only_a: tuple[PublishedEvent, ...]
    only_b: tuple[PublishedEvent, ...]

    @property
    def kinds(self) -> tuple[DifferenceKind, ...]:
        """What differs, each once."""
        kinds = tuple([difference.kind for difference in self.fields])
        return (*kinds, DifferenceKind.EVENTS) if self.only_a or self.only_b else kinds


def difference(a: Outcome, b: Outcome) -> Difference | None:
    """Return what differs between two outcomes of one record, None when nothing does.

    A record that only one of the settings accepts differs in `DifferenceKind.OUTCOME` and in its events.

    >>> difference(Rejected(("key",)), Rejected(("key",))) is None
    True
    """
    shown_a, shown_b = _shown(a), _shown(b)
    events_a, events_b = _published(a), _published(b)
    if shown_a == shown_b and events_a == events_b:
        return None
    # If only one side scored a record, the other shows no more than that it did not.
    fields = tuple(
        [
            FieldDifference(kind, in_a, in_b)
            for kind, in_a, in_b in zip(_FIELDS, shown_a, shown_b, strict=False)
            if in_a != in_b
        ]
    )
    return Difference(
        fields,
        tuple([each for each in events_a if each not in events_b]),
        tuple([each for each in events_b if each not in events_a]),
    )


_FIELDS = tuple(kind for kind in DifferenceKind if kind is not DifferenceKind.EVENTS)
_NOTHING: Mapping[str, Any] = {}


def _shown(outcome: Outcome) -> tuple[str | None, ...]:
    """What stands in an outcome, in the order of `_FIELDS`; of one that is not scored only what it is."""
    match outcome:
        case Rejected():
            return ("rejected",)
        case Duplicate():
            return ("duplicate",)
    eddy = outcome.enriched["eddy"]
    verdict = eddy.get("verdict") or _NOTHING
    budget = eddy.get("budget") or _NOTHING
    return (
        "scored",
        (eddy.get("uniqueness") or _NOTHING).get("severity"),
        outcome.node_state,
        verdict.get("level"),
        verdict.get("rule"),
        (eddy.get("drift") or _NOTHING).get("level"),
        _text(budget.get("adjusted_by")),
        budget.get("emergency"),
        _text(budget.get("exhausted")),
    )


def _text(value: float | bool | None) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case _:
            return repr(value)


def _published(outcome: Outcome) -> tuple[PublishedEvent, ...]:
    if not isinstance(outcome, Scored) or not outcome.events:
        return ()
    return tuple(
        [
            PublishedEvent(event.fields["event_type"], event.fields["id"])
            for event in outcome.events
            if event.topic is not None
        ]
    )
