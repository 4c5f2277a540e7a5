"""Which sessions are found and chosen to be forgotten, when a worker has confirmed it, and what stays."""

from __future__ import annotations

import orjson
import pytest

from streams.control.label import Label
from streams.core.domain.erasure import HEADER, PLACE
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.kafka.stored import Stored
from streams.operate.erasure import (
    KEEPING,
    ErasureChoice,
    ErasureSurvey,
    settles,
)
from streams.operate.retention import TopicRemainder, remainders
from streams.worker.state.changelog import encode_session
from topics.catalogue import Catalogue, Role
from topics.plan import ActualTopic

NOW, OLD, DAY = 2_000_000_000_000, 1_000_000_000_000, 1_500_000_000_000


def stored(value: bytes | None, at: int = OLD, key: bytes = b"s-1", partition: int = 2) -> Stored:
    return Stored(partition, 0, at, key, value, ())


def state(**facts: object) -> Stored:
    return stored(encode_session(Session(2, 7, **{"node": "active", "latest": OLD, **facts})))  # type: ignore[arg-type]


def chosen(choice: ErasureChoice, told: Stored) -> list[str]:
    survey = ErasureSurvey(choice)
    survey.state("changelog", 2, {"s-1": told})
    return [*survey.chosen()]


def test_a_session_is_of_every_agent_that_its_state_names() -> None:
    seen = {"activity": [{"coder": 0, "tool/shell": 0, "agent/tool/odd": 0}, 5, [], [], []]}
    held = state(agent_id="tester", states=seen)
    for agent in ("coder", "tester", "tool/odd"):
        assert chosen(ErasureChoice(agent=agent), held) == ["s-1"]
    assert chosen(ErasureChoice(agent="shell"), held) == []


def test_a_long_name_of_an_agent_is_found_as_the_state_has_it() -> None:
    survey = ErasureSurvey(ErasureChoice(agent="x" * 5_000))
    survey.event("topology", stored(b"", at=OLD), {"agent_id": "x" * 5_000, "partition": 1, "timestamp": OLD})
    assert [*survey.chosen()] == ["s-1"]


@pytest.mark.parametrize(("said", "came", "is_old"), [(OLD, OLD, True), (0, NOW, False), (NOW, OLD, False)])
def test_neither_the_clock_of_an_agent_nor_that_of_kafka_makes_a_session_old_alone(
    said: int, came: int, is_old: bool
) -> None:
    survey = ErasureSurvey(ErasureChoice(before_ms=DAY))
    survey.event("topology", stored(b"", at=came), {"agent_id": "a", "timestamp": said, "partition": 2})
    assert bool(survey.chosen()) is is_old


def test_a_label_says_nothing_of_the_age_of_a_session() -> None:
    survey = ErasureSurvey(ErasureChoice(before_ms=DAY))
    survey.state("changelog", 2, {"s-1": state()})
    label = Label(subject="e", session_id="s-1", label="loop", at=NOW, who="kim", agent_id="a")
    survey.label("session-labels", stored(orjson.dumps(label.fields())))
    assert [*survey.chosen()] == ["s-1"]
    assert survey.known["s-1"].labels == ["e"]


def test_the_partition_of_the_input_counts_and_not_that_of_a_smaller_topic() -> None:
    survey = ErasureSurvey(ErasureChoice())
    survey.event("topology", stored(b"", partition=1), {"partition": 5, "timestamp": OLD})
    survey.event("topology", stored(b"", partition=1), None)
    assert survey.known["s-1"].partitions == {5, 1}


def test_what_cannot_be_read_is_counted() -> None:
    survey = ErasureSurvey(ErasureChoice(agent="a"))
    survey.state(
        "changelog", 2, {"s-1": stored(b'[9,2,7,"active"]'), "s-2": stored(b"[2,2,7]"), "s-3": stored(None)}
    )
    survey.label("session-labels", stored(b"no label"))
    assert survey.unreadable == 2
    assert survey.known.keys() == {"s-1"}


def test_a_key_that_no_session_can_have_is_left_alone() -> None:
    survey = ErasureSurvey(ErasureChoice(before_ms=DAY))
    for key in (b"", b"\xff"):
        survey.event("topology", stored(b"", key=key), {"timestamp": OLD, "partition": 0})
    assert survey.known == {}


def test_named_sessions_are_chosen_whether_anything_is_known_of_them_or_not() -> None:
    survey = ErasureSurvey(ErasureChoice(frozenset({"s-1", "s-2"})))
    survey.state("changelog", 2, {"s-1": state(), "s-9": state()})
    assert {name: each.found_on for name, each in survey.chosen().items()} == {
        "s-1": {"changelog": 1},
        "s-2": {},
    }


def tombstone(partition: int, order: bytes = b"o-1") -> Stored:
    headers = ((HEADER, order), (PLACE, b"%d/7" % partition))
    return Stored(0, 0, 0, b"s-1", None, headers)


def test_each_partition_confirms_once() -> None:
    owed = {"s-1": {0, 1}}
    assert not settles(owed, b"o-1", tombstone(0, b"another"))
    assert settles(owed, b"o-1", tombstone(0))
    assert settles(owed, b"o-1", tombstone(0))
    assert owed == {"s-1": {1}}
    settles(owed, b"o-1", tombstone(1))
    assert owed == {"s-1": set()}


def test_a_topic_is_kept_for_as_long_as_its_settings_say_and_what_they_do_not_say_is_not_known() -> None:
    by_time = {"cleanup.policy": "delete", "retention.ms": "100", "segment.ms": "50"}
    both = {**by_time, "cleanup.policy": "compact,delete", "max.compaction.lag.ms": "9223372036854775807"}
    compacted = {"cleanup.policy": "compact", "max.compaction.lag.ms": "70"}
    topics = {
        "t-time": by_time,
        "t-for-ever": {**by_time, "retention.ms": "-1"},
        "t-unknown": {},
        "d-both": both,
        "d-sooner": {**both, "max.compaction.lag.ms": "30"},
        "d-compacted": compacted,
        "d-whenever": {**compacted, "max.compaction.lag.ms": "9223372036854775807"},
    }
    described = [ActualTopic(name, 1, 1, config) for name, config in topics.items()]
    found = remainders(described, {name for name in topics if name.startswith("d-")}, 1_000)
    assert {each.topic: each[1:] for each in found} == {
        "t-time": TopicRemainder("", 1_150, is_deleted=False)[1:],
        "t-for-ever": TopicRemainder("", None, is_deleted=False)[1:],
        "t-unknown": TopicRemainder("", None, is_deleted=False, is_known=False)[1:],
        "d-both": TopicRemainder("", 1_150, is_deleted=True)[1:],
        "d-sooner": TopicRemainder("", 1_030, is_deleted=True)[1:],
        "d-compacted": TopicRemainder("", 1_070, is_deleted=True)[1:],
        "d-whenever": TopicRemainder("", None, is_deleted=True)[1:],
    }


def test_every_topic_that_may_name_a_session_is_cleared_or_said_to_stay() -> None:
    no_sessions = {Role.SETTINGS, Role.AGGREGATE, Role.TOOL, Role.INTERNAL}
    named = {each.name for each in Catalogue.load().topics if each.role not in no_sessions}
    cleared = {"topology", "session-budgets", "session-responses", "session-labels", "intervention-policy"}
    assert named - cleared == {str(each) for each in KEEPING if each is not Topic.REPARTITION}
