"""What Kustomize and Helm make of the manifests: valid, hardened, and with settings that Eddy reads."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from streams.alerts.settings import NotifySettings
from streams.console.settings import ConsoleSettings
from streams.observe.settings import BridgeSettings, ConnectionSettings, TopicSettings, WorkerSettings, load
from tests.kubernetes.tools import DEFINITIONS, program, schema
from tests.pages import ROOT

# An extra: `make test-kubernetes` installs it.
kubernetes_validate = pytest.importorskip("kubernetes_validate")

pytestmark = pytest.mark.kubernetes

CHART = ROOT / "deploy" / "helm" / "eddy"
MANIFESTS = ROOT / "deploy" / "kubernetes"
#: The oldest version that the chart takes, and a new one.
VERSIONS = ("1.27", "1.34")
EVERYTHING = {
    "bridge.enabled": "true",
    "existingSecret": "secrets",
    "kafkaSecret": "kafka",
    "keda.enabled": "true",
    "notify.enabled": "true",
    "prometheus.podMonitor": "true",
}
READS: dict[str, type[ConnectionSettings]] = {
    "topics": TopicSettings,
    "worker": WorkerSettings,
    "bridge": BridgeSettings,
    "console": ConsoleSettings,
    "notify": NotifySettings,
}
Resource = dict[str, Any]


def run(name: str, *words: str | Path) -> str:
    path = program(name)
    assert path is not None, "make test-kubernetes builds it"
    done = subprocess.run([path, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def made(source: str) -> tuple[Resource, ...]:
    """Return the resources that a source makes."""
    match source:
        case "base" | "example":
            text = run("kustomize", "build", MANIFESTS / source)
        case "chart":
            text = run("helm", "template", "eddy", CHART, "--kube-version", "1.34.0")
        case _:
            values = ",".join(f"{name}={value}" for name, value in EVERYTHING.items())
            text = run("helm", "template", "eddy", CHART, "--kube-version", "1.34.0", "--set", values)
    return tuple(one for one in yaml.safe_load_all(text) if one)


SOURCES = ("base", "example", "chart", "chart with everything")
sources = pytest.mark.parametrize("source", SOURCES)


def of_kind(source: str, *kinds: str) -> Iterator[Resource]:
    return (one for one in made(source) if one["kind"] in kinds)


def pods(source: str) -> Iterator[tuple[str, Resource]]:
    """Yield what each resource runs: the name of its container, and the pod."""
    for one in of_kind(source, "StatefulSet", "Deployment", "Job"):
        spec = one["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        yield container["name"], spec


def settings_of(source: str, spec: Resource) -> dict[str, str]:
    """Return the variables that a pod gets, but for those of secrets."""
    (container,) = spec["containers"]
    name = container["envFrom"][0]["configMapRef"]["name"]
    (shared,) = [one["data"] for one in of_kind(source, "ConfigMap") if one["metadata"]["name"] == name]
    own = {one["name"]: one.get("value", "eddy-worker-0") for one in container.get("env", ())}
    return {**shared, **own}


@sources
@pytest.mark.parametrize("version", VERSIONS)
def test_every_resource_is_valid(source: str, version: str) -> None:
    assert len(made(source)) >= 7
    for one in made(source):
        if one["kind"] in DEFINITIONS:
            jsonschema.validate(one, schema(one["kind"]), jsonschema.Draft7Validator)
        else:
            kubernetes_validate.validate(one, version, strict=True)


@sources
def test_no_pod_is_root_may_write_or_has_rights(source: str) -> None:
    for name, spec in pods(source):
        assert spec["securityContext"]["runAsNonRoot"], name
        assert spec["securityContext"]["runAsUser"] == 10001
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        (container,) = spec["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]


@sources
def test_every_variable_is_a_setting_with_a_usable_value(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = {f"EDDY_{field.upper()}" for kind in READS.values() for field in kind.model_fields}
    for name, spec in pods(source):
        variables = settings_of(source, spec)
        assert variables.keys() <= everything
        with monkeypatch.context() as environment:
            for variable, value in variables.items():
                environment.setenv(variable, value)
            load(READS[name])


@sources
def test_a_worker_has_a_name_and_a_disk_that_outlive_its_pod(source: str) -> None:
    for one in of_kind(source, "StatefulSet"):
        (container,) = one["spec"]["template"]["spec"]["containers"]
        assert {
            "name": "EDDY_GROUP_INSTANCE_ID",
            "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}},
        } in container["env"]
        (claim,) = one["spec"]["volumeClaimTemplates"]
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounts[claim["metadata"]["name"]] == "/var/lib/eddy"
        assert one["spec"]["persistentVolumeClaimRetentionPolicy"]["whenScaled"] == "Retain"
        services = [each["metadata"]["name"] for each in of_kind(source, "Service")]
        assert one["spec"]["serviceName"] in services


@sources
def test_a_stop_has_longer_than_a_drain(source: str) -> None:
    # docker-compose.yml and operations.md say 45 s.
    for one in of_kind(source, "StatefulSet"):
        assert one["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > 45


@sources
def test_only_a_process_that_is_not_alive_is_restarted(source: str) -> None:
    for name, spec in pods(source):
        (container,) = spec["containers"]
        if name == "topics":
            continue
        assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
        assert "/livez" in str(container.get("startupProbe", "/livez"))


@sources
def test_nodes_are_emptied_one_worker_at_a_time(source: str) -> None:
    protected = [one["spec"]["selector"]["matchLabels"] for one in of_kind(source, "PodDisruptionBudget")]
    for one in of_kind(source, "StatefulSet"):
        assert one["spec"]["selector"]["matchLabels"] in protected
    assert all(one["spec"]["maxUnavailable"] == 1 for one in of_kind(source, "PodDisruptionBudget"))


@sources
def test_a_service_and_a_selector_find_their_pods(source: str) -> None:
    labels = [
        one["spec"]["template"]["metadata"]["labels"]
        for one in of_kind(source, "StatefulSet", "Deployment", "Job")
    ]
    for one in of_kind(source, "Service"):
        found = [each for each in labels if one["spec"]["selector"].items() <= each.items()]
        assert len(found) == 1, one["metadata"]["name"]


@sources
def test_the_only_console_shows_its_pages_while_it_is_not_ready(source: str) -> None:
    for one in of_kind(source, "Service"):
        if one["metadata"]["name"].endswith("console"):
            assert one["spec"]["publishNotReadyAddresses"] is True


@pytest.mark.parametrize("source", ["example", "chart with everything"])
def test_workers_are_scaled_by_lag_up_to_the_number_of_partitions(source: str) -> None:
    (scaled,) = of_kind(source, "ScaledObject")
    (worker,) = [one for one in of_kind(source, "StatefulSet") if one["metadata"]["name"].endswith("worker")]
    assert "replicas" not in worker["spec"]
    assert scaled["spec"]["scaleTargetRef"]["name"] == worker["metadata"]["name"]
    variables = settings_of(source, worker["spec"]["template"]["spec"])
    assert scaled["spec"]["maxReplicaCount"] == int(variables["EDDY_PARTITIONS"])
    (trigger,) = scaled["spec"]["triggers"]
    assert trigger["metadata"]["bootstrapServers"] in variables["EDDY_BOOTSTRAP_SERVERS"]
    defaults = load(WorkerSettings)
    assert trigger["metadata"]["consumerGroup"] == defaults.job


def test_the_chart_is_without_fault() -> None:
    assert "0 chart(s) failed" in run("helm", "lint", "--strict", CHART)


@pytest.mark.parametrize(
    "value",
    [
        "wroker.replicas=2",
        "worker.replicas=0",
        "settings.SECRET=1",
        "settings.EDDY_BOOTSTRAP_SERVER=kafka-1:9092",
        "worker.settings.EDDY_CHEKPOINT_S=5",
        "worker.terminationGracePeriodSeconds=30",
    ],
)
def test_the_chart_refuses_what_it_does_not_know(value: str) -> None:
    path = program("helm")
    assert path is not None
    done = subprocess.run(
        [path, "template", "eddy", CHART, "--kube-version", "1.34.0", "--set", value],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "values don't meet the specifications of the schema" in done.stderr


def test_a_console_whose_people_log_in_at_a_provider_needs_no_tokens() -> None:
    given = ["console.tokensSecret=", "console.settings.EDDY_CONSOLE_OPENID_ISSUER=https://id.example"]
    sets = [word for value in given for word in ("--set", value)]
    chart = run("helm", "template", "eddy", CHART, "--kube-version", "1.34.0", *sets)
    [console] = [
        one["spec"]["template"]["spec"]
        for one in yaml.safe_load_all(chart)
        if one is not None and one["kind"] == "Deployment" and one["metadata"]["name"].endswith("console")
    ]
    assert "EDDY_CONSOLE_TOKENS" not in str(console)
    assert "secretName" not in str(console["volumes"])
    assert {"name": "EDDY_CONSOLE_OPENID_ISSUER", "value": "https://id.example"} in console["containers"][0][
        "env"
    ]


def test_every_value_of_the_chart_is_explained() -> None:
    lines = (CHART / "values.yaml").read_text().splitlines()
    bare = [
        line
        for before, line in itertools.pairwise(lines)
        if re.match(r" *[A-Za-z_]+:", line)
        and not before.lstrip().startswith("#")
        and not re.match(r" *(requests|limits):", line)
    ]
    assert bare == []
