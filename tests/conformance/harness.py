"""Plays a stream vector (specification 10) through the pipeline and compares what came out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import orjson

from streams.core.domain.aggregates.task_profile import TaskProfile
from streams.core.domain.outcome import Duplicate, Rejected, Scored
from streams.core.domain.session import Session
from streams.core.offline import recommended
from tests.stream import Outcome, Stream


class Delivery(Enum):
    """How the records of a vector arrive. None of it may make a difference."""

    ONCE = "once"
    TWICE = "each record twice"
    STORED = "every session stored and restored after each record"


@dataclass
class Played:
    """What a vector made of the pipeline. Records are numbered from 1; redeliveries have no number."""

    outcomes: list[Outcome] = field(default_factory=list)
    recommendations: list[dict[str, int] | None] = field(default_factory=list)
    redelivered: list[tuple[Outcome, Outcome]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def emitted(self) -> Iterator[dict[str, Any]]:
        """Every event and every log line in order, with `at` and `topic`."""
        for at, outcome in enumerate(self.outcomes, start=1):
            match outcome:
                case Rejected(problems):
                    yield _violation(at, problems)
                case Scored(events=events, violations=violations):
                    if violations:
                        yield _violation(at, violations)
                    for event in events:
                        topic = "internal" if event.topic is None else str(event.topic)
                        yield {**event.fields, "at": at, "topic": topic}


def _violation(at: int, problems: tuple[str, ...]) -> dict[str, Any]:
    return {"event_type": "schema_violation", "topic": "log", "at": at, "problems": list(problems)}


def play(vector: Mapping[str, Any], delivery: Delivery = Delivery.ONCE) -> Played:
    """Run the records and settings changes of a vector in order."""
    played = Played()
    stream = Stream(**vector["settings"])
    profiles: dict[str, TaskProfile] = {}
    for entry in vector["events"]:
        if "set" in entry:
            stream.set(**entry["set"])
            continue
        record = stream.record(**entry)
        outcome = stream.apply(record)
        played.outcomes.append(outcome)
        granted = None if isinstance(outcome, Rejected) else recommended(profiles, outcome, stream.settings)
        played.recommendations.append(granted)
        if delivery is Delivery.TWICE:
            played.redelivered.append((outcome, stream.apply(record)))
        if delivery is Delivery.STORED:
            for session_id, session in stream.sessions.items():
                stored = orjson.dumps(session.snapshot())
                stream.sessions[session_id] = Session.restore(orjson.loads(stored))
    played.warnings = [warning.setting for warning in stream.warnings]
    return played


def field_value(outcome: Outcome, path: str) -> Any:
    """The value of one path of `expected.fields`; None where there is none."""
    match outcome, path:
        case _, "status":
            return {Scored: "ok", Duplicate: "duplicate", Rejected: "rejected"}[type(outcome)]
        case ((Duplicate() | Rejected()), _):
            return None
        case Scored(node_state=node_state), "node_state":
            return node_state
        case Scored(enriched=enriched), "entropy_score_out":
            return (enriched.get("cognition") or {}).get("entropy_score")
        case Scored(enriched=enriched), _:
            value = enriched["eddy"]
            for name in path.split("."):
                value = None if value is None else value.get(name)
            return value


def mismatches(expected: Mapping[str, Any], played: Played) -> Iterator[str]:
    """Say every way in which what came out is not what a vector expects."""
    for path, values in expected.get("fields", {}).items():
        if len(values) != len(played.outcomes):
            yield f"{path}: {len(values)} values for {len(played.outcomes)} records"
        outcomes = zip(values, played.outcomes, played.recommendations, strict=False)
        for at, (value, outcome, recommendation) in enumerate(outcomes, start=1):
            actual = recommendation if path == "recommendation" else field_value(outcome, path)
            if value != "*" and not equal(value, actual):
                yield f"{path} of record {at}: expected {value!r}, got {actual!r}"
    yield from _event_mismatches(expected, played)
    if "warnings" in expected and expected["warnings"] != played.warnings:
        yield f"warnings: expected {expected['warnings']}, got {played.warnings}"
    yield from _verdict_mismatches(expected.get("verdict"), played)


def _event_mismatches(expected: Mapping[str, Any], played: Played) -> Iterator[str]:
    scope = expected.get("emitted_scope", ())
    events = list(played.emitted())
    wanted = expected.get("emitted", ())
    in_scope = [event for event in events if event["event_type"] in scope]
    wanted_in_scope = [event for event in wanted if event["event_type"] in scope]
    if len(in_scope) != len(wanted_in_scope):
        yield f"events of {scope}: expected {wanted_in_scope}, got {in_scope}"
    for event, actual in zip(wanted_in_scope, in_scope, strict=False):
        if not equal(event, actual):
            yield f"event: expected {event}, got {actual}"
    remaining = iter(events)
    for event in wanted:
        if event["event_type"] not in scope and not any(equal(event, actual) for actual in remaining):
            yield f"no such event, or not in this order: {event}"


def _verdict_mismatches(wanted: Mapping[str, str] | None, played: Played) -> Iterator[str]:
    if wanted is None:
        return
    levels = ("NORMAL", "WARNING", "LOOP")
    reached = max(
        levels.index(field_value(outcome, "verdict.level") or "NORMAL") for outcome in played.outcomes
    )
    if not levels.index(wanted["level_min"]) <= reached <= levels.index(wanted["level_max"]):
        yield f"verdict: expected {wanted}, reached {levels[reached]}"


def equal(expected: Any, actual: Any) -> bool:
    """Compare as specification 10 does: numbers within 1e-9, of a map only the given keys."""
    match expected:
        case bool() | None | str():
            return type(actual) is type(expected) and actual == expected
        case int() | float():
            return type(actual) in {int, float} and abs(actual - expected) <= 1e-9
        case list():
            return (
                isinstance(actual, list)
                and len(actual) == len(expected)
                and all(equal(one, other) for one, other in zip(expected, actual, strict=True))
            )
        case dict():
            return isinstance(actual, dict) and all(
                name in actual and equal(value, actual[name]) for name, value in expected.items()
            )
        case _:
            raise TypeError(f"a vector cannot expect {expected!r}")
