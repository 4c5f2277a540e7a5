"""What the topology shows of a session, and when it is told (specification 7.3)."""

from __future__ import annotations

from streams.core.domain.event import EventKind, Finding
from streams.core.domain.level import Level, higher
from streams.core.domain.node import COLORS, NodeState
from streams.core.domain.settings.general import NodeStateSource

_STATES = {
    Level.NORMAL: NodeState.ACTIVE,
    Level.WARNING: NodeState.BLOCKED,
    Level.LOOP: NodeState.ALERT_ENTROPY,
}
_ACTIVE, _UNIQUENESS, _VERDICT = NodeState.ACTIVE, NodeStateSource.uniqueness, NodeStateSource.verdict


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


def is_told(node: NodeState, before: NodeState, scored_and_every_record: bool) -> bool:
    """Tell whether a record makes a `node_state`: one that changes the node does.

    With `topology_every_record` so does each record that A1 scored (with an agent) and that leaves the node
    blocked or alert_entropy.
    """
    return node is not before or (scored_and_every_record and node is not _ACTIVE)


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
