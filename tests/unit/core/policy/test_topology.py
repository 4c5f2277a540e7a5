import pytest

from streams.core.domain.level import Level
from streams.core.domain.node import NodeState
from streams.core.domain.settings.general import NodeStateSource
from streams.core.policy.topology import is_told, node_after, node_finding

N, W, L = Level
ACTIVE, BLOCKED, ALERT = NodeState.ACTIVE, NodeState.BLOCKED, NodeState.ALERT_ENTROPY
UNIQUENESS, VERDICT, HIGHER = NodeStateSource


@pytest.mark.parametrize(
    ("source", "severity", "verdict", "state"),
    [
        (UNIQUENESS, N, L, ACTIVE),
        (UNIQUENESS, W, N, BLOCKED),
        (UNIQUENESS, L, N, ALERT),
        (VERDICT, L, N, ACTIVE),
        (VERDICT, N, W, BLOCKED),
        (VERDICT, N, L, ALERT),
        (HIGHER, W, L, ALERT),
        (HIGHER, L, W, ALERT),
        (HIGHER, W, N, BLOCKED),
        (HIGHER, N, N, ACTIVE),
    ],
)
def test_the_source_gives_the_state(
    source: NodeStateSource, severity: Level, verdict: Level, state: NodeState
) -> None:
    assert node_after(BLOCKED, source, severity, verdict, scored=True, judged=True) is state


@pytest.mark.parametrize(
    ("source", "scored", "judged", "counts"),
    [
        (UNIQUENESS, False, True, False),
        (UNIQUENESS, True, False, True),
        (VERDICT, True, False, False),
        (VERDICT, False, True, True),
        (HIGHER, True, False, True),
        (HIGHER, False, True, True),
        (HIGHER, False, False, False),
    ],
)
def test_a_record_the_source_did_not_look_at_changes_nothing(
    source: NodeStateSource, scored: bool, judged: bool, counts: bool
) -> None:
    assert node_after(BLOCKED, source, L, L, scored, judged) is (ALERT if counts else BLOCKED)


@pytest.mark.parametrize(
    ("node", "before", "every_record", "told"),
    [
        (BLOCKED, ACTIVE, False, True),
        (ACTIVE, BLOCKED, False, True),
        (BLOCKED, BLOCKED, False, False),
        (BLOCKED, BLOCKED, True, True),
        (ALERT, ALERT, True, True),
        (ACTIVE, ACTIVE, True, False),
    ],
)
def test_a_change_is_told_and_on_request_trouble_that_lasts(
    node: NodeState, before: NodeState, every_record: bool, told: bool
) -> None:
    assert is_told(node, before, every_record) is told


def test_what_is_told_of_a_node() -> None:
    finding = node_finding("s1", ALERT, BLOCKED)
    assert finding.fields["state"] == "alert_entropy"
    assert finding.fields == {
        "node_id": "s1",
        "state": "alert_entropy",
        "previous_state": "blocked",
        "color": "#ef4444",
    }
