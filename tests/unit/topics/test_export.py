"""Topics and rights as Strimzi and Terraform take them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from streams.core.errors import ConfigurationError
from streams.kafka.topic_identity import job_topics
from topics.catalogue import Role
from topics.export import strimzi, terraform
from topics.rights import ResourceKind, Right, worker_rights

FOUND = job_topics("staging.eddy", "staging.", partitions=4, replicas=1).topics
USERS = {"staging.eddy-worker": worker_rights(FOUND, "staging.eddy", "staging.eddy-")}


def resources(kind: str) -> list[dict[str, Any]]:
    text = strimzi(FOUND, USERS, "kafka", "tls")
    return [each for each in yaml.safe_load_all(text) if each["kind"] == kind]


def test_strimzi_gets_each_topic_under_its_name_with_what_the_catalogue_says() -> None:
    found = {
        each["spec"].get("topicName", each["metadata"]["name"]): each for each in resources("KafkaTopic")
    }
    assert {each.name for each in FOUND} == set(found)
    for topic in FOUND:
        spec = found[topic.name]["spec"]
        assert (spec["partitions"], spec["replicas"]) == (topic.partitions, topic.replicas)
        assert spec["config"] == dict(topic.config)
    assert {each["metadata"]["labels"]["strimzi.io/cluster"] for each in found.values()} == {"kafka"}


def test_a_name_that_kubernetes_does_not_allow_stands_in_the_resource() -> None:
    [spans] = [each for each in resources("KafkaTopic") if "topicName" in each["spec"]][:1]
    assert spans["metadata"]["name"] == "staging.otlp-spans"
    assert spans["spec"]["topicName"] == "staging.otlp_spans"


def test_resources_have_no_field_that_strimzi_does_not_know() -> None:
    """Those of its definitions of `kafka.strimzi.io/v1`; a user has the name that Kubernetes lets it have."""
    users = {"Staging_eddy-worker": USERS["staging.eddy-worker"]}
    known = {
        "KafkaTopic": {"topicName", "partitions", "replicas", "config"},
        "KafkaUser": {"authentication", "authorization", "quotas", "template"},
    }
    found = list(yaml.safe_load_all(strimzi(FOUND, users, "kafka", "tls")))
    assert found[-1]["metadata"]["name"] == "staging-eddy-worker"
    assert {each["kind"] for each in found} == set(known)
    for each in found:
        assert each["apiVersion"] == "kafka.strimzi.io/v1"
        assert each["spec"].keys() <= known[each["kind"]]


def test_strimzi_gets_each_right_of_a_user() -> None:
    [user] = resources("KafkaUser")
    assert user["metadata"]["name"] == "staging.eddy-worker"
    assert user["spec"]["authentication"] == {"type": "tls"}
    rules = user["spec"]["authorization"]["acls"]
    assert {
        "resource": {"type": "topic", "name": "staging.decision-logs", "patternType": "literal"},
        "operations": ["Read"],
    } in rules
    assert {
        "resource": {"type": "transactionalId", "name": "staging.eddy-", "patternType": "prefix"},
        "operations": ["Write", "Describe"],
    } in rules
    assert len(rules) == sum(len(right.names) for right in USERS["staging.eddy-worker"])


def test_terraform_gets_the_same_topics_and_a_rule_for_each_operation() -> None:
    document = json.loads(terraform(FOUND, USERS))
    found = {each["name"]: each for each in document["resource"]["kafka_topic"].values()}
    assert {each.name for each in FOUND} == set(found)
    assert all(each["lifecycle"]["prevent_destroy"] for each in found.values())
    assert found["staging.decision-logs"]["config"]["retention.ms"] == "604800000"
    rules = {
        (
            rule["resource_type"],
            rule["resource_name"],
            rule["resource_pattern_type_filter"],
            rule["acl_operation"],
        )
        for rule in document["resource"]["kafka_acl"].values()
    }
    kinds = {
        ResourceKind.TOPIC: "Topic",
        ResourceKind.GROUP: "Group",
        ResourceKind.TRANSACTIONAL_ID: "TransactionalID",
    }
    assert rules == {
        (kinds[right.kind], name, "Prefixed" if right.prefixed else "Literal", operation)
        for right in USERS["staging.eddy-worker"]
        for name in right.names
        for operation in right.operations
    }


@pytest.mark.parametrize(
    "made", [lambda users: strimzi((), users, "k", "tls"), lambda users: terraform((), users)]
)
def test_names_that_would_become_one_are_refused(made: Any) -> None:
    users = {name: [Right(ResourceKind.GROUP, ("a/b", "a*b"), ("Read",))] for name in ("a/b", "a*b")}
    with pytest.raises(ConfigurationError, match="Choose another EDDY_TOPIC_PREFIX"):
        made(users)


def test_a_worker_may_read_and_write_all_that_its_job_alone_reads() -> None:
    [own] = [
        each for each in USERS["staging.eddy-worker"] if each.prefixed and each.kind is ResourceKind.TOPIC
    ]
    internal = [each.name for each in FOUND if each.role is Role.INTERNAL]
    assert internal
    assert all(name.startswith(own.names) for name in internal)
