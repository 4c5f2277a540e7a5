"""A real API server takes what the manifests and the chart make, the commands of the page, and an upgrade."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.kubernetes.cluster import Cluster, missing, running_cluster
from tests.kubernetes.test_manifests import CHART, SOURCES, made, pods
from tests.kubernetes.tools import CACHE, program
from tests.pages import ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

PAGE = (ROOT / "docs" / "deploy.md").read_text()
HELM = str(program("helm"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    assert missing() == [], "make test-cluster builds them"
    with running_cluster() as running:
        yield running


def namespace(cluster: Cluster, name: str) -> str:
    """Make a namespace where no pod may have rights that it does not need."""
    label = "pod-security.kubernetes.io/enforce"
    document = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {label: "restricted"}},
    }
    cluster.run("kubectl", "apply", "-f", "-", told=json.dumps(document))
    return name


def with_definitions(cluster: Cluster) -> None:
    """Let it know the resources of KEDA and of the Prometheus operator."""
    for kind in ("ScaledObject", "PodMonitor"):
        cluster.run("kubectl", "apply", "--server-side", "-f", CACHE / f"{kind}.yaml")
        name = yaml.safe_load((CACHE / f"{kind}.yaml").read_text())["metadata"]["name"]
        cluster.run("kubectl", "wait", "--for=condition=Established", f"crd/{name}", "--timeout=60s")


def commands_of_the_page() -> list[list[str]]:
    section = PAGE.split("\n## Kubernetes\n")[1].split("\n## ")[0]
    lines = re.findall(r"^\$ ((?:kubectl|helm) .*)$", section, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def test_the_commands_of_the_page_work_in_an_empty_cluster_and_again_for_an_upgrade(cluster: Cluster) -> None:
    commands = commands_of_the_page()
    assert len(commands) >= 5
    with_definitions(cluster)  # the page says that the example wants KEDA
    for command in commands:
        name, *words = command
        cluster.run(HELM if name == "helm" else name, *words)
    found = json.loads(cluster.run("kubectl", "get", "statefulset,deployment,job", "-A", "-o", "json"))
    assert {(one["metadata"]["namespace"], one["metadata"]["name"]) for one in found["items"]} >= {
        ("eddy", "eddy-worker"),
        ("eddy", "eddy-console"),
        ("eddy", "eddy-topics"),
        ("default", "eddy-worker"),
    }


def applied(cluster: Cluster, where: str, resources: tuple[dict[str, Any], ...]) -> list[str]:
    """Apply resources strictly; return the version of each that is stored."""
    text = yaml.safe_dump_all(resources)
    words = ("--server-side", "--validate=strict", "--namespace", where, "-f", "-", "-o", "json")
    stored = json.loads(cluster.run("kubectl", "apply", *words, told=text))
    items = stored.get("items", [stored])
    return [one["metadata"]["resourceVersion"] for one in items]


@pytest.mark.parametrize("source", SOURCES)
def test_everything_is_stored_and_applied_again_it_changes_nothing(cluster: Cluster, source: str) -> None:
    with_definitions(cluster)
    where = namespace(cluster, f"again-{source.replace(' ', '-')}")
    resources = tuple(
        {**one, "metadata": {name: value for name, value in one["metadata"].items() if name != "namespace"}}
        for one in made(source)
    )
    first = applied(cluster, where, resources)
    assert len(first) == len(resources)
    assert applied(cluster, where, resources) == first


@pytest.mark.parametrize("source", SOURCES)
def test_pods_are_admitted_where_none_may_have_more_rights_than_it_needs(
    cluster: Cluster, source: str
) -> None:
    where = namespace(cluster, f"pods-{source.replace(' ', '-')}")
    for name, spec in pods(source):
        own = {each["name"] for each in spec["volumes"]}
        claimed = {
            each["name"] for each in spec["containers"][0]["volumeMounts"]
        } - own  # disks of a StatefulSet
        volumes = [*spec["volumes"], *({"name": each, "emptyDir": {}} for each in claimed)]
        asked = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {**spec, "volumes": volumes, "serviceAccountName": "default"},
        }
        told = json.dumps(asked)
        cluster.run("kubectl", "create", "--dry-run=server", "--namespace", where, "-f", "-", told=told)
        root = json.loads(told)
        root["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
        refused = cluster.run(
            "kubectl", "create", "--dry-run=server", "--namespace", where, "-f", "-",
            told=json.dumps(root), fails=True,
        )  # fmt: skip
        assert 'violates PodSecurity "restricted:latest"' in refused


def test_the_chart_takes_more_workers_and_another_image_by_an_upgrade(cluster: Cluster) -> None:
    where = namespace(cluster, "upgraded")
    given = ["--namespace", where, "--set", "settings.EDDY_BOOTSTRAP_SERVERS=kafka-1:9092"]
    cluster.run(HELM, "install", "eddy", CHART, *given)
    more = ["--set", "worker.replicas=3", "--set", "image.tag=next", "--set", "settings.EDDY_LOG_LEVEL=debug"]
    cluster.run(HELM, "upgrade", "eddy", CHART, *given, *more)
    worker = json.loads(
        cluster.run("kubectl", "get", "statefulset/eddy-worker", "--namespace", where, "-o", "json")
    )
    assert worker["spec"]["replicas"] == 3
    assert worker["spec"]["template"]["spec"]["containers"][0]["image"].endswith(":next")
