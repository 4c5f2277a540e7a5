"""The heart: one record and the state of its session in, the next state and what is told out. Pure.

    record ── admit ──▶ Decision | Rejected
    session, Decision ── step ──▶ Session, Scored | Duplicate

No clock, no I/O, no random numbers: the same records in the same order under the same settings give the
same output, byte for byte (specification 1.2). The worker, `eddy detect` and the tests all run this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.detectors.detector import CloseReason, Detector, Layer
from streams.detectors.registry import DETECTORS
from streams.detectors.settings import DetectionSettings
from streams.domain.aggregates.contribution import Changes, Contribution, expiry_source
from streams.domain.decision import Decision
from streams.domain.event import Event, EventKind, Finding
from streams.domain.event_kind import ID_FIELDS
from streams.domain.node import NodeState
from streams.domain.outcome import Duplicate, Rejected, Scored
from streams.domain.problem_text import explained
from streams.domain.record import Record
from streams.domain.scoring_status import ScoringStatus, scoring_status
from streams.domain.session import DAMAGE, DamagedSessionError, Session
from streams.domain.text.bounded import bounded
from streams.domain.validation import known_fields, problems
from streams.policy.activity import ACTIVITY, activity_of, follow, leave
from streams.policy.completion import completion_of
from streams.policy.routing import topic_of
from streams.policy.topology import is_told, node_after, node_finding

States = Mapping[str, Sequence[Any]]


class Step(NamedTuple):
    """What one record did: the session from now on, and what became of the record."""

    session: Session
    outcome: Scored | Duplicate


class Expired(NamedTuple):
    """What the removal of a session tells, and what it contributes to the views across sessions."""

    events: tuple[Event, ...] = ()
    contributions: tuple[Contribution, ...] = ()


def admit(record: Record, settings: DetectionSettings) -> Decision | Rejected:
    """Check a record (specification 2.2). What is accepted never makes `step` or a writer fail."""
    value = record.value
    known = known_fields(value)
    if known is not None and record.key == known["session_id"]:
        decision = Decision.of(record.partition, record.offset, known)
        if not _is_ahead(decision.timestamp, record, settings):
            return decision
    found = list(problems(value))
    # Neither can be told of a record without a valid session_id or timestamp: that is a problem of its own.
    if "session_id" not in found and record.key != value["session_id"]:
        found.append("key")
    if not {"meta", "meta.timestamp"} & set(found) and _is_ahead(
        value["meta"]["timestamp"], record, settings
    ):
        found.append("meta.timestamp:future")
    return Rejected(tuple(found), explained(found, record, settings))


def _is_ahead(timestamp: int, record: Record, settings: DetectionSettings) -> bool:
    """Tell whether a record says it comes from a future that the topic does not know yet."""
    if record.timestamp is None or settings.max_future_ms == 0:
        return False
    return timestamp > record.timestamp + settings.max_future_ms


def step(session: Session | None, decision: Decision, settings: DetectionSettings) -> Step:
    """Apply one record to its session: the detectors look at it, and what they find is told.

    Args:
        session: the state of the record's session; None when there is none.
        decision: the record, as `admit` accepted it.
        settings: the settings in force for it.

    Raises:
        DamagedSessionError: the state is none that this function has returned.
    """
    try:
        return _step(session, decision, settings)
    except DAMAGE as error:
        if session is None:
            raise
        raise DamagedSessionError(decision.session_id, error) from error


def _step(session: Session | None, decision: Decision, settings: DetectionSettings) -> Step:
    findings: list[Finding] = []
    changes = Changes()
    if session is not None:
        if session.has_applied(decision.partition, decision.offset):
            return Step(session, Duplicate(decision))
        if session.node is _IDLE:
            session = None
        elif 0 < settings.session_ttl_ms < decision.timestamp - session.latest:
            findings += _closing(session, decision.session_id, CloseReason.EXPIRED, _ACTIVE, settings)
            leave(activity_of(session.states), findings, changes)
            session = None

    scoring = scoring_status(decision, settings)
    place = f"{decision.session_id}/{decision.partition}/{decision.offset}"
    eddy: dict[str, Any] = {
        "id": f"{place}/enriched",
        "settings_version": settings.version,
        "scoring_status": str(scoring),
        "step": None,
    }
    session, found = _observe(session, decision, scoring, eddy, settings, changes)
    findings += found
    at = session.latest
    if decision.is_terminal:
        if eddy["step"] is not None:
            eddy["completion"] = completion_of(decision, session.states, settings)
        closing = _closing(session, decision.session_id, CloseReason.TERMINAL, _IDLE, settings)
        leave(activity_of(session.states), closing, changes)
        findings += closing
        session = Session(decision.partition, decision.offset)

    events = tuple([_event(finding, decision, place, settings) for finding in findings]) if findings else ()
    eddy["events"] = [event.fields for event in events]
    enriched = {**decision.known, "eddy": eddy}
    if scoring is _OK:
        score = eddy["uniqueness"]["score"]
        enriched["cognition"] = {**enriched["cognition"], "entropy_score": score}
    violations = _MISSING_AGENT_ID if scoring is _MISSING_AGENT else ()
    contributions = changes.contributions(decision.partition, decision.offset, at) if changes else ()
    return Step(session, Scored(decision, enriched, events, str(session.node), violations, contributions))


def expire(session_id: str, session: Session, settings: DetectionSettings) -> Expired:
    """Return what follows when housekeeping removes a session (specification 2.5): what was open is closed.

    The events carry the coordinates and the timestamp of the session's last record, and ``/expired`` at the
    end of their ids. The stub of an ended session has nothing to tell, and a shadow never tells anything.

    Raises:
        DamagedSessionError: the state is none that `step` has returned.
    """
    if session.ended:
        return _NOTHING
    try:
        return _expire(session_id, session, settings)
    except DAMAGE as error:
        raise DamagedSessionError(session_id, error) from error


def _expire(session_id: str, session: Session, settings: DetectionSettings) -> Expired:
    about = _Coordinates(
        session_id,
        session.agent_id,
        session.event_id,
        session.timestamp,
        session.partition,
        session.offset,
    )
    place = f"{session_id}/{session.partition}/{session.offset}"
    findings = _closing(session, session_id, CloseReason.EXPIRED, _ACTIVE, settings)
    changes = Changes()
    leave(activity_of(session.states), findings, changes)
    source = expiry_source(session.partition)
    return Expired(
        tuple([_event(finding, about, place, settings, "/expired") for finding in findings]),
        changes.contributions(source, session.offset, session.latest) if changes else (),
    )


# Members of an enumeration cost a lookup each time; these are read for every record.
_OK, _NOT_SCORED, _MISSING_AGENT = (
    ScoringStatus.OK,
    ScoringStatus.STATUS,
    ScoringStatus.MISSING_AGENT,
)
_ACTIVE, _IDLE = NodeState.ACTIVE, NodeState.IDLE
_JUDGES = Layer.JUDGES
_MISSING_AGENT_ID = ("missing_agent_id",)
_NO_STATES: States = {}
_NOTHING = Expired()
_BY_NAME = {detector.name: detector for detector in DETECTORS}
_KIND_ORDER = {kind: rank for rank, kind in enumerate(EventKind)}


def _observe(
    session: Session | None,
    decision: Decision,
    scoring: ScoringStatus,
    eddy: dict[str, Any],
    settings: DetectionSettings,
    changes: Changes,
) -> tuple[Session, list[Finding]]:
    """Show a record to the detectors and the topology; write what they report into ``eddy``.

    What it contributes to the views across sessions is added to ``changes``.
    """
    timestamp = decision.timestamp
    if session is None:
        before, latest, number, held = _ACTIVE, timestamp, 0, _NO_STATES
    else:
        before, latest, number, held = session.node, session.latest, session.step, session.states
        latest = max(latest, timestamp)
    is_step = scoring is not _NOT_SCORED
    if is_step:
        eddy["step"] = number = number + 1

    findings: list[Finding] = []
    states: dict[str, Sequence[Any]] = {}
    for detector in DETECTORS:
        name = detector.name
        state = held.get(name)
        if state is None or type(state) is list:
            state = _live(detector, state, settings)
        seen = None
        if is_step or detector.layer is _JUDGES:
            seen = detector.observe(state, decision, eddy, settings)
        if seen is None:
            states[name], eddy[name] = state, None
        else:
            states[name], eddy[name], found = seen
            findings += found
    eddy["completion"] = None
    if len(findings) > 1:
        findings.sort(key=_by_kind)

    scored = scoring is _OK
    verdict = eddy["verdict"]
    judged = verdict is not None and verdict["visible"]
    node = before
    if scored or judged:
        severity = _BY_NAME["uniqueness"].level(states["uniqueness"])
        level = _BY_NAME["verdict"].level(states["verdict"])
        node = node_after(before, settings.node_state_source, severity, level, scored, judged)
    if is_told(node, before, scored and settings.topology_every_record):
        findings.append(node_finding(decision.session_id, node, before))
    states[ACTIVITY] = follow(activity_of(held), decision, latest, findings, states, changes)
    return Session(
        decision.partition,
        decision.offset,
        node,
        latest,
        number,
        bounded(decision.event_id),
        bounded(decision.agent_id),
        timestamp,
        states,
    ), findings


def _live(detector: Detector[Any, Any], state: Sequence[Any] | None, settings: DetectionSettings) -> Any:
    """The state as the detector works with it: new, read from where it was stored, or as it left it."""
    if type(state) is list:
        return detector.restore(state)
    return detector.begin(settings) if state is None else state


def _by_kind(finding: Finding) -> int:
    return _KIND_ORDER[finding.kind]


def _closing(
    session: Session, session_id: str, reason: CloseReason, node: NodeState, settings: DetectionSettings
) -> list[Finding]:
    """What is told when a session ends: what the detectors leave open, then its node unless it was active."""
    findings = [
        finding
        for detector in DETECTORS
        for finding in detector.close(_live(detector, session.states.get(detector.name), settings), reason)
    ]
    if session.node is not _ACTIVE:
        findings.append(node_finding(session_id, node, session.node))
    return findings


class _Coordinates(NamedTuple):
    """What an event says of the record it belongs to."""

    session_id: str
    agent_id: str
    event_id: str
    timestamp: int
    partition: int
    offset: int


def _event(
    finding: Finding, about: Decision | _Coordinates, place: str, settings: DetectionSettings, end: str = ""
) -> Event:
    """Make an event of a finding: its topic, the common fields, and its id (specification 7.1, 7.5)."""
    kind, fields = finding
    id_ = "/".join([place, kind, *(fields[name] for name in ID_FIELDS[kind])]) + end
    told = {
        "id": id_,
        "event_type": str(kind),
        "session_id": about.session_id,
        "agent_id": about.agent_id,
        "event_id": about.event_id,
        "timestamp": about.timestamp,
        "partition": about.partition,
        "offset": about.offset,
        **fields,
    }
    return Event(topic_of(kind, fields, settings), told)
