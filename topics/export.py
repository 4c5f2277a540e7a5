"""The topics and rights of Eddy for those who declare theirs: Strimzi's resources, or Terraform's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import yaml

from streams.core.errors import ConfigurationError
from topics.catalogue import TopicSpec
from topics.rights import ResourceKind, Right

#: By name, what each user of the brokers may do.
Users = Mapping[str, Sequence[Right]]

_STRIMZI: Final = "kafka.strimzi.io/v1"
_PROVIDER: Final = "Mongey/kafka"
_NOT_IN_KUBERNETES: Final = re.compile(r"[^a-z0-9.-]+")
_NOT_IN_TERRAFORM: Final = re.compile(r"[^A-Za-z0-9_-]+")
_KINDS: Final = {
    ResourceKind.TOPIC: "Topic",
    ResourceKind.GROUP: "Group",
    ResourceKind.TRANSACTIONAL_ID: "TransactionalID",
}


def strimzi(topics: Iterable[TopicSpec], users: Users, cluster: str, authentication: str) -> str:
    """Return a `KafkaTopic` for each topic and a `KafkaUser` for each user, as YAML.

    Args:
        topics: Under their names on the brokers.
        users: Who may do what.
        cluster: Name of the `Kafka` resource.
        authentication: How users log in: tls, tls-external or scram-sha-512.

    Raises:
        ConfigurationError: two names differ only in what Kubernetes does not allow.
    """
    found = [*map(_kafka_topic, topics), *(_kafka_user(*each, authentication) for each in users.items())]
    names = _labels((each["spec"].pop("name") for each in found), _kubernetes_name)
    documents = []
    for (name, label), each in zip(names.items(), found, strict=True):
        # A user is called on the brokers what it is called in Kubernetes.
        called = {"topicName": name} if name != label and each["kind"] == "KafkaTopic" else {}
        documents.append(
            {
                "apiVersion": _STRIMZI,
                "kind": each["kind"],
                "metadata": {"name": label, "labels": {"strimzi.io/cluster": cluster}},
                "spec": {**called, **each["spec"]},
            }
        )
    return yaml.safe_dump_all(documents, sort_keys=False, width=110)


def terraform(topics: Iterable[TopicSpec], users: Users) -> str:
    """Return a `kafka_topic` for each topic and a `kafka_acl` for each right, in Terraform's JSON.

    They are of the provider Mongey/kafka. No topic is destroyed by a plan: with one, state would go.

    Args:
        topics: Under their names on the brokers.
        users: Who may do what.

    Raises:
        ConfigurationError: two names differ only in what Terraform does not allow.
    """
    by_name = {each.name: each for each in topics}
    rules = {f"{user}-{about}": rule for user, each in users.items() for about, rule in _rules(user, each)}
    resources = {
        "kafka_topic": {
            label: {
                "name": name,
                "partitions": by_name[name].partitions,
                "replication_factor": by_name[name].replicas,
                "config": dict(by_name[name].config),
                "lifecycle": {"prevent_destroy": True},
            }
            for name, label in _labels(by_name, _terraform_label).items()
        },
        "kafka_acl": {label: rules[name] for name, label in _labels(rules, _terraform_label).items()},
    }
    needed = {"required_providers": {"kafka": {"source": _PROVIDER}}}
    return json.dumps({"terraform": needed, "resource": resources}, indent=2) + "\n"


def _kafka_topic(topic: TopicSpec) -> dict[str, Any]:
    spec = {"partitions": topic.partitions, "replicas": topic.replicas, "config": dict(topic.config)}
    return {"kind": "KafkaTopic", "spec": {"name": topic.name, **spec}}


def _kafka_user(name: str, rights: Iterable[Right], authentication: str) -> dict[str, Any]:
    rules = [
        {
            "resource": {
                "type": str(right.kind),
                "name": each,
                "patternType": "prefix" if right.prefixed else "literal",
            },
            "operations": list(right.operations),
        }
        for right in rights
        for each in right.names
    ]
    authorization = {"type": "simple", "acls": rules}
    spec = {"authentication": {"type": authentication}, "authorization": authorization}
    return {"kind": "KafkaUser", "spec": {"name": name, **spec}}


def _rules(user: str, rights: Iterable[Right]) -> Iterator[tuple[str, dict[str, str]]]:
    for right in rights:
        pattern = "Prefixed" if right.prefixed else "Literal"
        for name in right.names:
            for operation in right.operations:
                yield (
                    f"{right.kind}-{pattern}-{name}-{operation}",
                    {
                        "resource_type": _KINDS[right.kind],
                        "resource_name": name,
                        "resource_pattern_type_filter": pattern,
                        "acl_principal": f"User:{user}",
                        "acl_host": "*",
                        "acl_operation": operation,
                        "acl_permission_type": "Allow",
                    },
                )


def _kubernetes_name(name: str) -> str:
    """Return a name as Kubernetes allows it: small letters, digits, dots and hyphens.

    >>> _kubernetes_name("staging.otlp_spans")
    'staging.otlp-spans'
    """
    return _NOT_IN_KUBERNETES.sub("-", name.lower()).strip("-.")


def _terraform_label(name: str) -> str:
    label = _NOT_IN_TERRAFORM.sub("_", name)
    return label if label[:1].isalpha() else f"_{label}"


def _labels(names: Iterable[str], label: Callable[[str], str]) -> dict[str, str]:
    found = {name: label(name) for name in names}
    twice = {each for each in found.values() if list(found.values()).count(each) > 1}
    if twice:
        same = ", ".join(name for name, each in found.items() if each in twice)
        raise ConfigurationError(
            f"These names are the same where they are declared: {same}. Choose another EDDY_TOPIC_PREFIX "
            "or EDDY_APPLICATION_ID."
        )
    return found
