"""topics.yaml and its loader."""

from __future__ import annotations

import copy

import pytest
import yaml

from schemas.numbers import SUBJECT_NUMBERS
from streams.core.errors import ConfigurationError
from topics.catalogue import TOPICS_FILE, Catalogue

NAMES = (
    "decision-logs",
    "decision-logs-enriched",
    "entropy-alerts",
    "session-alerts",
    "session-budgets",
    "session-responses",
    "topology",
    "task-profiles",
    "agent-health",
    "detector-config",
    "shadow-config",
    "shadow-differences",
    "decision-logs-dlq",
    "otlp_spans",
    "otlp_spans-dlq",
    "decision-logs-redriven",
    "session-commands",
    "session-command-acks",
    "console-actions",
    "intervention-policy",
    "session-labels",
    "alerts-dlq",
    "notify-state",
    "eddy-sessions-changelog",
    "eddy-aggregates-repartition",
    "eddy-aggregates-changelog",
    "eddy-bridge-traces-changelog",
)


@pytest.fixture(scope="module")
def document():
    return yaml.safe_load(TOPICS_FILE.read_text(encoding="utf-8"))


def load(document, **overrides):
    return Catalogue.from_document(document, "topics.yaml", **overrides)


def test_every_topic_is_there():
    assert tuple(topic.name for topic in Catalogue.load().topics) == NAMES


def test_every_schema_is_bundled_and_named_after_its_topic():
    for topic in Catalogue.load().topics:
        if topic.value_schema is not None:
            assert topic.value_schema == f"{topic.name}-value"
            assert topic.value_schema in SUBJECT_NUMBERS


def test_every_bundled_schema_has_its_topic():
    used = {topic.value_schema for topic in Catalogue.load().topics}
    assert set(SUBJECT_NUMBERS) <= used


def test_the_defaults_reach_a_topic_and_its_own_config_wins():
    topic = Catalogue.load()["decision-logs"]
    assert (topic.partitions, topic.replicas) == (8, 3)
    assert topic.config["min.insync.replicas"] == "2"
    assert topic.config["max.message.bytes"] == "1048576"
    assert Catalogue.load()["topology"].config["max.message.bytes"] == "8388608"


def test_the_changelog_is_compacted_only():
    changelog = Catalogue.load()["eddy-sessions-changelog"]
    assert changelog.config["cleanup.policy"] == "compact"
    assert changelog.compacted
    assert changelog.internal


def test_partitions_of_another_cluster_leave_the_settings_topic_alone():
    catalogue = Catalogue.load(partitions=2)
    assert {t.name: t.partitions for t in catalogue.topics} == dict.fromkeys(NAMES, 2) | {
        "detector-config": 1,
        "shadow-config": 1,
        "intervention-policy": 1,
        "session-labels": 1,
    }


@pytest.mark.parametrize(("replicas", "in_sync"), [(1, "1"), (2, "1"), (3, "2"), (5, "2")])
def test_min_insync_follows_the_replicas(replicas, in_sync):
    for topic in Catalogue.load(replicas=replicas).topics:
        assert topic.replicas == replicas
        assert topic.config["min.insync.replicas"] == in_sync


def test_config_cannot_be_changed():
    with pytest.raises(TypeError):
        Catalogue.load()["topology"].config["x"] = "y"


def test_an_unknown_name():
    with pytest.raises(KeyError):
        Catalogue.load()["nope"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["topics"][0].pop("why"), "topics.0.why"),
        (lambda d: d["topics"][0].update(colour="red"), "topics.0.colour"),
        (lambda d: d["topics"][0].update(name="a b"), "topics.0.name"),
        (lambda d: d["topics"][0].update(partitions=0), "topics.0.partitions"),
        (lambda d: d["topics"][0].update(partitions="8"), "topics.0.partitions"),
        (lambda d: d["defaults"].pop("replicas"), "defaults.replicas"),
        (lambda d: d["topics"].append(d["topics"][0]), "decision-logs is there twice"),
        (lambda d: d["topics"][1].update(co_partitioned_with="gone"), "gone, which is missing"),
        (lambda d: d["topics"][1].update(partitions=9), "has 9 partitions, but 8 are needed"),
    ],
)
def test_a_mistake_is_named(document, change, message):
    wrong = copy.deepcopy(document)
    change(wrong)
    with pytest.raises(ConfigurationError, match=message):
        load(wrong)


@pytest.mark.parametrize("content", ["topics: [", "", "- 1"])
def test_not_a_catalogue(tmp_path, content):
    file = tmp_path / "t.yaml"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=r"t\.yaml"):
        Catalogue.load(file)


def test_a_missing_file(tmp_path):
    with pytest.raises(ConfigurationError, match=r"gone\.yaml"):
        Catalogue.load(tmp_path / "gone.yaml")
