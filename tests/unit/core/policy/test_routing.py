import pytest

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.event_kind import EventKind
from streams.core.domain.topic import Topic
from streams.core.policy.routing import topic_of

LOOP = {"level": "LOOP"}
FAMILIES = [
    EventKind.ENTROPY_ALERT,
    EventKind.LOOP_EPISODE,
    EventKind.DIVERGENCE_SUSPECTED,
    EventKind.DRIFT_PATTERN,
    EventKind.HANDOVER_LOOP,
]


@pytest.mark.parametrize(
    ("kind", "topic"),
    [
        (EventKind.ENTROPY_ALERT, Topic.ENTROPY_ALERTS),
        (EventKind.LOOP_EPISODE, Topic.SESSION_ALERTS),
        (EventKind.DIVERGENCE_SUSPECTED, Topic.SESSION_ALERTS),
        (EventKind.DRIFT_PATTERN, Topic.SESSION_ALERTS),
        (EventKind.HANDOVER_LOOP, Topic.SESSION_ALERTS),
        (EventKind.SILENT_SESSION, Topic.SESSION_ALERTS),
        (EventKind.BUDGET, Topic.SESSION_BUDGETS),
        (EventKind.RESPONSE, Topic.SESSION_RESPONSES),
        (EventKind.NODE_STATE, Topic.TOPOLOGY),
    ],
)
def test_every_kind_has_its_topic(kind: EventKind, topic: Topic) -> None:
    assert topic_of(kind, LOOP, DEFAULTS) is topic


def test_entropy_alerts_carries_nothing_else() -> None:
    kinds = [kind for kind in EventKind if topic_of(kind, LOOP, DEFAULTS) is Topic.ENTROPY_ALERTS]
    assert kinds == [EventKind.ENTROPY_ALERT]


@pytest.mark.parametrize("kind", EventKind)
def test_a_family_left_out_stays_inside_and_the_others_are_always_told(kind: EventKind) -> None:
    topic = topic_of(kind, LOOP, DetectionSettings(alert_families=()))
    assert (topic is None) == (kind in FAMILIES)
    assert topic_of(kind, LOOP, DetectionSettings(alert_families=(kind.value,))) is not None


@pytest.mark.parametrize(
    ("level", "lowest", "inside"),
    [("WARNING", "LOOP", True), ("LOOP", "LOOP", False), ("WARNING", "WARNING", False)],
)
def test_an_episode_below_the_lowest_level_stays_inside(level: str, lowest: str, inside: bool) -> None:
    settings = DetectionSettings(episode_min_level=lowest)
    assert (topic_of(EventKind.LOOP_EPISODE, {"level": level}, settings) is None) is inside
