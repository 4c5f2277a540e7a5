"""The plan from the topics there are to those there should be."""

from __future__ import annotations

import dataclasses

import pytest

from topics.catalogue import Catalogue
from topics.plan import ActualTopic, AddPartitions, AlterConfig, CreateTopic, Refused, plan, render


@pytest.fixture
def desired():
    return Catalogue.load(partitions=4, replicas=1)


def as_it_should_be(desired):
    return {t.name: ActualTopic(t.name, t.partitions, t.replicas, dict(t.config)) for t in desired.topics}


def changed(desired, name, **fields):
    actual = as_it_should_be(desired)
    actual[name] = dataclasses.replace(actual[name], **fields)
    return plan(desired, actual.values())


def test_an_empty_cluster_gets_every_topic(desired):
    assert plan(desired, ()) == tuple(CreateTopic(topic) for topic in desired.topics)


def test_nothing_to_do(desired):
    changes = plan(desired, as_it_should_be(desired).values())
    assert changes == ()
    assert render(changes) == ["Nothing to do: the topics are as they should be."]


def test_applying_a_plan_leaves_nothing_to_do(desired):
    created = [
        ActualTopic(c.topic.name, c.topic.partitions, c.topic.replicas, dict(c.topic.config))
        for c in plan(desired, ())
    ]
    assert plan(desired, created) == ()


def test_strangers_are_not_looked_at(desired):
    actual = [*as_it_should_be(desired).values(), ActualTopic("other", 1, 1, {})]
    assert plan(desired, actual) == ()


def test_config_that_differs_or_is_missing_is_altered(desired):
    config = dict(desired["topology"].config) | {"retention.ms": "1"}
    del config["max.message.bytes"]
    (change,) = changed(desired, "topology", config=config)
    assert change.differing == (
        ("max.message.bytes", None, "8388608"),
        ("retention.ms", "1", "604800000"),
    )


def test_an_alteration_names_every_entry_that_shall_stay(desired):
    config = dict(desired["topology"].config) | {"retention.ms": "1", "segment.ms": "5", "flush.ms": "9"}
    (change,) = changed(desired, "topology", config=config, overridden=frozenset(config) - {"flush.ms"})
    assert {name: wanted for name, _, wanted in change.entries} == {
        **desired["topology"].config,
        "segment.ms": "5",
    }


def test_config_nobody_asked_about_stays(desired):
    config = dict(desired["topology"].config) | {"segment.ms": "5"}
    assert changed(desired, "topology", config=config) == ()


@pytest.mark.parametrize(
    ("name", "raised"),
    [("max.message.bytes", "16777216"), ("retention.ms", "999999999999"), ("retention.ms", "-1")],
)
def test_what_an_operator_has_raised_is_not_taken_back(desired, name, raised):
    config = dict(desired["topology"].config) | {name: raised}
    assert changed(desired, "topology", config=config, overridden=frozenset(config)) == ()
    (change,) = changed(
        desired, "topology", config=config | {"cleanup.policy": "compact"}, overridden=frozenset(config)
    )
    assert {entry: wanted for entry, _, wanted in change.entries}[name] == raised


@pytest.mark.parametrize("policy", ["delete,compact", "compact, delete", "compact,delete"])
def test_the_order_of_policies_means_nothing(desired, policy):
    config = dict(desired["topology"].config) | {"cleanup.policy": policy}
    assert changed(desired, "topology", config=config) == ()


def test_partitions_of_a_topic_with_state_are_not_added(desired):
    (change,) = changed(desired, "decision-logs", partitions=2)
    assert isinstance(change, Refused)
    assert "eddy-sessions-changelog" in change.why


@pytest.mark.parametrize("name", ["eddy-sessions-changelog", "decision-logs-enriched"])
def test_partitions_of_a_follower_are_not_added(desired, name):
    (change,) = changed(desired, name, partitions=2)
    assert isinstance(change, Refused)
    assert "same number as decision-logs" in change.why


def test_partitions_of_a_compacted_topic_are_not_added():
    topics = Catalogue.load(replicas=1)
    config = dataclasses.replace(topics["detector-config"], partitions=2)
    actual = ActualTopic(config.name, 1, 1, dict(config.config))
    (change,) = plan(Catalogue((config,)), [actual])
    assert isinstance(change, Refused)
    assert "compacted" in change.why


@pytest.mark.parametrize("name", ["session-commands", "console-actions"])
def test_partitions_are_not_added_where_the_records_of_a_key_need_one_order(desired, name):
    (change,) = changed(desired, name, partitions=2)
    assert isinstance(change, Refused)
    assert "readers would not see their order" in change.why


def test_partitions_are_added_where_they_harm_nobody(desired):
    free = dataclasses.replace(desired["decision-logs-dlq"], co_partitioned_with=None)
    actual = ActualTopic(free.name, 1, 1, dict(free.config))
    assert plan(Catalogue((free,)), [actual]) == (AddPartitions("decision-logs-dlq", 1, 4),)


def test_nothing_shrinks(desired):
    (change,) = changed(desired, "decision-logs", partitions=16)
    assert isinstance(change, Refused)
    assert "`--partitions 16`" in change.why


def test_replicas_are_left_to_the_operator(desired):
    (change,) = changed(desired, "topology", replicas=3)
    assert isinstance(change, Refused)
    assert "kafka-reassign-partitions" in change.why
    assert "EDDY_REPLICAS=" in change.why


def test_a_follower_is_not_created_with_another_number_of_partitions(desired):
    source = ActualTopic("decision-logs", 16, 1, dict(desired["decision-logs"].config))
    refused = {change.topic for change in plan(desired, [source]) if isinstance(change, Refused)}
    followers = {t.name for t in desired.topics if t.co_partitioned_with == "decision-logs"}
    assert refused == followers | {"decision-logs"}


def test_the_text(desired):
    source = dataclasses.replace(desired["decision-logs"], config={"retention.ms": "9"})
    text = render(
        (
            CreateTopic(source),
            AlterConfig("topology", (("retention.ms", None, "5"), ("x", "1", "2"))),
            AddPartitions("a", 1, 2),
            Refused("b", "because"),
        )
    )
    assert text == [
        "+ create decision-logs: 4 partitions, 1 replicas",
        "      retention.ms = 9",
        "~ alter topology: retention.ms (default) -> 5",
        "~ alter topology: x 1 -> 2",
        "~ grow a: 1 -> 2 partitions",
        "! refused b: because",
    ]
