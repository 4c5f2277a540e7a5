"""What two judgements of one record differ in, as far as anybody acts on it."""

from typing import Any

import pytest

from streams.core.domain.decision import Decision
from streams.core.domain.outcome import Duplicate, Event, Rejected, Scored
from streams.core.domain.topic import Topic
from streams.core.policy.comparison import DifferenceKind, FieldDifference, PublishedEvent, difference
from tests.stream import Stream, decision_log, repeated

DECISION = Decision.of(0, 7, decision_log())
EDDY: dict[str, Any] = {
    "settings_version": 1,
    "uniqueness": {"severity": "WARNING", "score": 0.4},
    "verdict": {"level": "WARNING", "rule": "R1"},
    "drift": {"level": "CONTINUE", "overall": 0.1},
    "budget": {"adjusted_by": None, "emergency": None, "exhausted": False, "velocity": 0.1},
}


def event(kind: str, topic: Topic | None = Topic.SESSION_ALERTS, **fields: Any) -> Event:
    return Event(topic, {"id": f"s1/0/7/{kind}", "event_type": kind, **fields})


def scored(*events: Event, node_state: str = "active", **blocks: Any) -> Scored:
    return Scored(DECISION, {"eddy": EDDY | blocks}, events, node_state, ())


def test_equal_outcomes_do_not_differ() -> None:
    one = scored(event("drift_pattern"))
    assert difference(one, one) is None


@pytest.mark.parametrize(
    "blocks",
    [
        {"settings_version": 2},
        {"uniqueness": {"severity": "WARNING", "score": 0.3333}},
        {"drift": {"level": "CONTINUE", "overall": 0.2}},
        {"budget": {"adjusted_by": None, "emergency": None, "exhausted": False, "velocity": 0.3}},
    ],
)
def test_numbers_and_versions_nobody_acts_on_may_differ(blocks: dict[str, Any]) -> None:
    assert difference(scored(), scored(**blocks)) is None


@pytest.mark.parametrize(
    ("blocks", "found"),
    [
        ({"uniqueness": {"severity": "LOOP"}}, ("severity", "WARNING", "LOOP")),
        ({"uniqueness": None}, ("severity", "WARNING", None)),
        ({"node_state": "blocked"}, ("node_state", "active", "blocked")),
        ({"verdict": {"level": "LOOP", "rule": "R1"}}, ("verdict_level", "WARNING", "LOOP")),
        ({"verdict": {"level": "WARNING", "rule": "R7"}}, ("verdict_rule", "R1", "R7")),
        ({"drift": {"level": "ASK_USER"}}, ("drift_level", "CONTINUE", "ASK_USER")),
        ({"budget": EDDY["budget"] | {"adjusted_by": 1.5}}, ("budget_adjusted_by", None, "1.5")),
        ({"budget": EDDY["budget"] | {"emergency": "denied"}}, ("budget_emergency", None, "denied")),
        ({"budget": EDDY["budget"] | {"exhausted": True}}, ("budget_exhausted", "false", "true")),
    ],
)
def test_each_thing_somebody_acts_on_is_compared(blocks: dict[str, Any], found: tuple[Any, ...]) -> None:
    differs = difference(scored(), scored(**blocks))
    assert differs is not None
    assert differs.fields == (FieldDifference(DifferenceKind(found[0]), found[1], found[2]),)
    assert (differs.only_a, differs.only_b) == ((), ())
    assert differs.kinds == (found[0],)


def test_events_published_under_one_of_them_are_told_by_kind_and_id() -> None:
    both, mine, yours = event("node_state", Topic.TOPOLOGY), event("drift_pattern"), event("entropy_alert")
    differs = difference(scored(mine, both), scored(yours, both))
    assert differs is not None
    assert differs.fields == ()
    assert differs.only_a == (PublishedEvent("drift_pattern", "s1/0/7/drift_pattern"),)
    assert differs.only_b == (PublishedEvent("entropy_alert", "s1/0/7/entropy_alert"),)
    assert differs.kinds == (DifferenceKind.EVENTS,)


def test_an_event_that_stays_in_the_enriched_record_is_not_published() -> None:
    assert difference(scored(event("loop_episode", None)), scored()) is None
    differs = difference(scored(event("loop_episode", None)), scored(event("loop_episode")))
    assert differs is not None
    assert [told.event_type for told in differs.only_b] == ["loop_episode"]


def test_a_record_that_one_of_them_refuses_differs_in_that_and_in_its_events() -> None:
    refused = Rejected(("meta.timestamp:future",))
    differs = difference(refused, scored(event("drift_pattern")))
    assert differs is not None
    assert differs.fields == (FieldDifference(DifferenceKind.OUTCOME, "rejected", "scored"),)
    assert len(differs.only_b) == 1
    assert difference(refused, Rejected(("meta.timestamp:future",))) is None
    assert difference(Duplicate(DECISION), Duplicate(DECISION)) is None


def test_what_the_pipeline_makes_of_a_loop_under_a_smaller_window() -> None:
    records = repeated(5)
    found = [
        difference(a, b)
        for a, b in zip(Stream().run(records), Stream(entropy_window_size=2).run(records), strict=True)
    ]
    assert found[:2] == [None, None]
    assert [each is not None and DifferenceKind.SEVERITY in each.kinds for each in found[2:]] == [True] * 3
    last = found[4]
    assert last is not None
    assert "entropy_alert" in [told.event_type for told in last.only_a]
