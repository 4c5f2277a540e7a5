"""What follows once the detectors have looked at a record: node, activity, events, enriched record. Pure.

A `Evaluation` is a record on its way through the detectors. Rows are concluded in the order of the records,
since the node and the activity of a session continue from one record to its next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.core.detectors.budget.detector import BudgetState
from streams.core.detectors.detector import CloseReason, Detector
from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.aggregates.contribution import Changes
from streams.core.domain.aggregates.exchange import Handed, HandoverAlert
from streams.core.domain.aggregates.task_profile import KindExcess, Outlay
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import ID_FIELDS, EventKind
from streams.core.domain.level import COLORS, Level, NodeState, higher
from streams.core.domain.number import r4, within_doubles
from streams.core.domain.outcome import Event, Finding, Scored
from streams.core.domain.session import Session
from streams.core.domain.settings.general import NodeStateSource
from streams.core.domain.status import ScoringStatus
from streams.core.domain.text.digest import bounded
from streams.core.policy.activity import ACTIVITY, activity_of, follow, leave
from streams.core.policy.handover import HANDOVERS, follow_handovers, hands_over
from streams.core.policy.routing import topic_of
from streams.core.policy.silence import PACE, pace_of
from streams.core.policy.spending import (
    SPENDING,
    Excess,
    ExcessPhase,
    Measure,
    ending,
    excess_finding,
    follow_spending,
    spending_of,
)


def completion_of(
    decision: Decision, states: Mapping[str, Sequence[Any]], settings: DetectionSettings
) -> dict[str, Any] | None:
    """Return `eddy.completion` of a scored record, None when it completes no task.

    A terminal success of a known task_type does ("" is none), unless `enable_historical_profiling` is off.

    Args:
        decision: the record that may complete a task.
        states: the states of the detectors after the record; that of A6 knows what the session used.
        settings: the settings in force for the record.

    >>> from streams.core.detectors.settings import DEFAULTS
    >>> known = {
    ...     "session_id": "s",
    ...     "event_id": "e",
    ...     "task_type": "api",
    ...     "meta": {"trace_id": "t", "timestamp": 0},
    ...     "identity": {"agent_id": "a", "agent_type": "coder"},
    ...     "action": {"status": "success"},
    ...     "control": {"is_terminal": True},
    ... }
    >>> used = BudgetState(steps_used=15, tokens_used=25000, total=1.0)
    >>> completion_of(Decision.of(0, 14, known), {"budget": used}, DEFAULTS)
    {'task_type': 'api', 'steps_used': 15, 'tokens_used': 25000, 'total_progress': 1.0}
    """
    if not (decision.is_terminal and decision.status == "success" and decision.task_type):
        return None
    if not settings.enable_historical_profiling:
        return None
    budget = states["budget"]
    assert isinstance(budget, BudgetState)
    tokens = budget.tokens_used
    return {
        "task_type": decision.task_type,
        "steps_used": budget.steps_used,
        "tokens_used": r4(tokens) if type(tokens) is float else tokens,
        "total_progress": r4(budget.total),
    }


_STATES = {
    Level.NORMAL: NodeState.ACTIVE,
    Level.WARNING: NodeState.BLOCKED,
    Level.LOOP: NodeState.ALERT_ENTROPY,
}
_ACTIVE_NODE, _UNIQUENESS, _VERDICT = NodeState.ACTIVE, NodeStateSource.uniqueness, NodeStateSource.verdict


def node_after(
    before: NodeState, source: NodeStateSource, severity: Level, verdict: Level, scored: bool, judged: bool
) -> NodeState:
    """Return the state of a node after a record.

    Args:
        before: its state until now.
        source: setting `node_state_source`: which of the two levels counts. A record that it did not look at
            leaves the node as it was.
        severity: severity of A1 after the record.
        verdict: level of the episode after the record.
        scored: whether A1 scored this record, with an agent.
        judged: whether layer B judged this record.

    >>> active, warning, loop = NodeState.ACTIVE, Level.WARNING, Level.LOOP
    >>> node_after(active, NodeStateSource.uniqueness, warning, loop, scored=True, judged=True).value
    'blocked'
    >>> node_after(active, NodeStateSource.max, warning, loop, scored=True, judged=True).value
    'alert_entropy'
    """
    if source is _UNIQUENESS:
        return _STATES[severity] if scored else before
    if source is _VERDICT:
        return _STATES[verdict] if judged else before
    return _STATES[higher(severity, verdict)] if scored or judged else before


def is_emitted(node: NodeState, before: NodeState, scored_and_every_record: bool) -> bool:
    """Tell whether a record makes a `node_state`: one that changes the node does.

    With `topology_every_record` so does each record that A1 scored (with an agent) and that leaves the node
    blocked or alert_entropy.
    """
    return node is not before or (scored_and_every_record and node is not _ACTIVE_NODE)


def node_finding(session_id: str, state: NodeState, previous: NodeState) -> Finding:
    """Return what is told of a node."""
    return Finding(
        EventKind.NODE_STATE,
        {
            "node_id": session_id,
            "state": str(state),
            "previous_state": str(previous),
            "color": COLORS[state],
        },
    )


States = Mapping[str, Sequence[Any]]


class Evaluation:
    """A record while it is judged. To the next record of its session in the run it stands for the session.

    Attributes:
        decision: the record that is judged.
        scoring: how layer A scores it.
        begins: whether a session begins with it: there was none, or it has ended or expired.
        latest, step: of the session with the record, as a `Session` has them.
        held: the states before the record, empty where it begins the session. Those of an earlier record of
            the run are there as soon as their detector has looked at that record.
        states: the states after the record, of the detectors that have looked.
        eddy: the block `eddy` as far as it is written.
        findings: what the detectors found.
    """

    __slots__ = ("begins", "decision", "eddy", "findings", "held", "latest", "scoring", "states", "step")

    def __init__(
        self,
        decision: Decision,
        scoring: ScoringStatus,
        held: States,
        latest: int,
        step: int,
        eddy: dict[str, Any],
        *,
        begins: bool,
    ) -> None:
        self.decision = decision
        self.scoring = scoring
        self.held = held
        self.latest = latest
        self.step = step
        self.eddy = eddy
        self.begins = begins
        self.states: dict[str, Sequence[Any]] = {}
        self.findings: list[Finding] = []

    @property
    def ended(self) -> bool:
        """Whether the session ends with the record."""
        return self.decision.is_terminal

    def has_applied(self, partition: int, offset: int) -> bool:
        """Tell whether a record at this position is a duplicate: this one, or one before it."""
        return partition == self.decision.partition and offset <= self.decision.offset


class Coordinates(NamedTuple):
    """What an event says of the record it belongs to."""

    session_id: str
    agent_id: str
    event_id: str
    timestamp: int
    partition: int
    offset: int


# Members of an enumeration cost a lookup each time; these are read for every record.
_OK, _MISSING_AGENT = ScoringStatus.OK, ScoringStatus.MISSING_AGENT
_ACTIVE, _IDLE = NodeState.ACTIVE, NodeState.IDLE
_MISSING_AGENT_ID = ("missing_agent_id",)
_BY_NAME = {detector.name: detector for detector in DETECTORS}
_KIND_ORDER = {kind: rank for rank, kind in enumerate(EventKind)}


def concluded(before: Session | None, row: Evaluation, settings: DetectionSettings) -> tuple[Session, Scored]:
    """Return the session after a record that all detectors have looked at, and what became of the record.

    Args:
        before: the session before the record, None when there is none.
        row: the record with what the detectors found in it.
        settings: the settings in force for it.
    """
    decision, eddy, states, found = row.decision, row.eddy, row.states, row.findings
    changes = Changes()
    findings: list[Finding] = []
    if before is None or row.begins:
        node_before = _ACTIVE
        if before is not None and not before.ended:
            findings = closing(before, decision.session_id, CloseReason.EXPIRED, _ACTIVE, settings)
            leave(activity_of(before.states), findings, changes)
        gap_ms = None
    else:
        node_before = before.node
        gap_ms = decision.timestamp - before.timestamp
    states[PACE], spoke = pace_of(row.held).after(decision, gap_ms, settings)
    if spoke is not None:
        found.append(spoke)
    outlay = _spent(row, settings)
    if len(found) > 1:
        found.sort(key=_by_kind)
    node = _node(row, node_before, settings)
    if is_emitted(node, node_before, row.scoring is _OK and settings.topology_every_record):
        found.append(node_finding(decision.session_id, node, node_before))
    states[ACTIVITY] = follow(activity_of(row.held), decision, row.latest, found, states, changes)
    handed: tuple[Handed, ...] = ()
    remembered, tool = row.held.get(HANDOVERS), decision.tool
    if remembered is not None or (tool is not None and hands_over(tool)):
        handovers, handed = follow_handovers(remembered, decision, settings)
        if handovers is not None:
            states[HANDOVERS] = handovers
    findings += found
    session = Session(
        decision.partition,
        decision.offset,
        node,
        row.latest,
        row.step,
        bounded(decision.event_id),
        bounded(decision.agent_id),
        decision.timestamp,
        states,
    )
    eddy["completion"] = None
    if decision.is_terminal:
        if eddy["step"] is not None:
            eddy["completion"] = completion_of(decision, states, settings)
        ends = closing(session, decision.session_id, CloseReason.TERMINAL, _IDLE, settings)
        leave(activity_of(states), ends, changes)
        findings += ends
        session = Session(decision.partition, decision.offset)
    return session, _scored(row, session, findings, changes, (handed, outlay), settings)


def _spent(row: Evaluation, settings: DetectionSettings) -> Outlay | None:
    """Follow what the session spends; return what is compared with its kind."""
    budget = row.states["budget"]
    assert isinstance(budget, BudgetState)
    before, tokens = spending_of(row.held), within_doubles(budget.tokens_used)
    after, found, outlay = follow_spending(before, row.decision, row.step, tokens, settings)
    if after is not None:
        row.states[SPENDING] = after
    row.findings += found
    return outlay


def _node(row: Evaluation, before: NodeState, settings: DetectionSettings) -> NodeState:
    verdict = row.eddy["verdict"]
    scored = row.scoring is _OK
    judged = verdict is not None and verdict["visible"]
    if not (scored or judged):
        return before
    states = row.states
    severity = _BY_NAME["uniqueness"].level(states["uniqueness"])
    level = _BY_NAME["verdict"].level(states["verdict"])
    return node_after(before, settings.node_state_source, severity, level, scored, judged)


def _scored(
    row: Evaluation,
    session: Session,
    findings: Sequence[Finding],
    changes: Changes,
    across: tuple[tuple[Handed, ...], Outlay | None],
    settings: DetectionSettings,
) -> Scored:
    decision, scoring, eddy = row.decision, row.scoring, row.eddy
    events: tuple[Event, ...] = ()
    if findings:
        events = tuple([event(finding, decision, settings) for finding in findings])
    eddy["events"] = [each.fields for each in events]
    enriched = {**decision.known, "eddy": eddy}
    if scoring is _OK:
        score = eddy["uniqueness"]["score"]
        enriched["cognition"] = {**enriched["cognition"], "entropy_score": score}
    violations = _MISSING_AGENT_ID if scoring is _MISSING_AGENT else ()
    contributions = changes.contributions(decision.partition, decision.offset, row.latest) if changes else ()
    return Scored(decision, enriched, events, str(session.node), violations, contributions, *across)


def live(detector: Detector[Any, Any], state: Sequence[Any] | None, settings: DetectionSettings) -> Any:
    """Return the state as the detector works with it: new, read back, or as the detector left it."""
    if type(state) is list:
        return detector.restore(state)
    return detector.begin(settings) if state is None else state


def closing(
    session: Session, session_id: str, reason: CloseReason, node: NodeState, settings: DetectionSettings
) -> list[Finding]:
    """Return what is told when a session ends: what the detectors leave open, then its node unless active."""
    findings = [
        finding
        for detector in DETECTORS
        for finding in detector.close(live(detector, session.states.get(detector.name), settings), reason)
    ]
    silence = pace_of(session.states).ending(str(reason))
    if silence is not None:
        findings.append(silence)
    if SPENDING in session.states:
        budget = live(_BY_NAME["budget"], session.states["budget"], settings)
        spending, tokens = spending_of(session.states), within_doubles(budget.tokens_used)
        findings += ending(spending, session_id, session, tokens)
    if session.node is not _ACTIVE:
        findings.append(node_finding(session_id, node, session.node))
    return findings


def event(
    finding: Finding, about: Decision | Coordinates, settings: DetectionSettings, end: str = ""
) -> Event:
    """Make an event of a finding: its topic, the common fields, and its id (specification 7.1, 7.5)."""
    kind, fields = finding
    place = f"{about.session_id}/{about.partition}/{about.offset}"
    id_ = "/".join([place, kind, *(fields[name] for name in ID_FIELDS[kind])]) + end
    fields_of_event = {
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
    return Event(topic_of(kind, fields, settings), fields_of_event)


def handover_event(alert: HandoverAlert) -> Event:
    """Return the event of an alert about two sessions that hand each other the same task."""
    first, last = alert.first, alert.last
    fields = {
        "level": str(alert.level),
        "count": alert.rounds,
        "chain_id": alert.other_id,
        "target": alert.other_agent or None,
        "tools": list(alert.tools),
        "first_offset": first.offset,
        "first_timestamp": first.at,
        "last_offset": last.offset,
        "last_timestamp": last.at,
        "tokens_since_onset": last.tokens - first.tokens if last.tokens else None,
    }
    place = last.event_id, last.at, alert.partition, last.offset
    about = Coordinates(alert.session_id, alert.agent, *place)
    # The session's own settings decided whether it contributes.
    return event(Finding(EventKind.HANDOVER_LOOP, fields), about, DEFAULTS)


def overspending_event(excess: KindExcess) -> Event:
    """Return the event of a session that has used many times what its kind takes."""
    outlay, first = excess.outlay, excess.first
    phase = ExcessPhase.OVER if first.offset == outlay.offset else ExcessPhase.STILL_OVER
    since = Excess(first.offset, first.at, outlay.number - first.number)
    told = outlay.session_id, outlay, outlay.at, outlay.tokens, outlay.cost
    spent, limit = r4(float(outlay.tokens)), r4(excess.limit)
    finding = excess_finding(
        phase, Measure.KIND, since, *told, spent=spent, limit=limit, samples=excess.samples
    )
    place = outlay.partition, outlay.offset
    about = Coordinates(outlay.session_id, outlay.agent_id, outlay.event_id, outlay.at, *place)
    # The session's own settings decided whether it contributes.
    return event(finding, about, DEFAULTS)


def _by_kind(finding: Finding) -> int:
    return _KIND_ORDER[finding.kind]
