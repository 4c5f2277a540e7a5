"""The container files, as far as they can be checked without an engine; `make test-compose` runs them."""

import hashlib
import json
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from click.testing import CliRunner

from streams.alerts.settings import NotifySettings
from streams.cli import main
from streams.console.settings import ConsoleSettings
from streams.observe.settings import BridgeSettings, ConnectionSettings, TopicSettings, WorkerSettings, load
from tests.unit.alerts.sinks.alerts import NOW_MS, SINKS, alert, told

ROOT = Path(__file__).parents[1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
#: What runs `eddy`; the receiver of the alerts has the image alone.
OURS = {
    name: service for name, service in SERVICES.items() if "build" in service and "entrypoint" not in service
}
#: What the process of a service reads.
READS: dict[str, type[ConnectionSettings]] = {
    "topics": TopicSettings,
    "worker": WorkerSettings,
    "bridge": BridgeSettings,
    "console": ConsoleSettings,
    "notify": NotifySettings,
}


def settings_of_the_image() -> dict[str, str]:
    return dict(re.findall(r"\b(EDDY_\w+)=(\S+)", DOCKERFILE))


def test_it_follows_the_compose_specification() -> None:
    command = [Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema", "vendor.compose-spec"]
    checked = subprocess.run(
        [*command, "docker-compose.yml"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_it_has_the_services_it_promises() -> None:
    around = {"kafka", "prometheus", "alertmanager", "webhook", "demo"}
    assert set(SERVICES) == around | set(READS)
    assert set(OURS) == set(READS)
    assert SERVICES["worker"]["deploy"]["replicas"] == 2
    assert [name for name, service in SERVICES.items() if "profiles" in service] == ["demo"]


@pytest.mark.parametrize("name", OURS)
def test_every_variable_is_a_setting_with_a_usable_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = settings_of_the_image() | OURS[name]["environment"]
    for variable, value in variables.items():
        monkeypatch.setenv(variable, str(value))
    known = {f"EDDY_{setting.upper()}" for setting in READS[name].model_fields}
    assert OURS[name]["environment"].keys() <= known
    settings = load(READS[name])
    assert settings.bootstrap_servers in SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]


@pytest.mark.parametrize("name", OURS)
def test_every_command_is_one_of_eddy(name: str) -> None:
    # The option makes click parse everything before it and stop there.
    result = CliRunner().invoke(main, [*OURS[name]["command"], "--help"])
    assert result.exit_code == 0, result.output


def test_every_port_is_open_to_this_machine_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(ports) == 5
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_whoever_is_waited_for_can_be_waited_for() -> None:
    for service in SERVICES.values():
        for name, condition in service.get("depends_on", {}).items():
            match condition["condition"]:
                case "service_healthy":
                    assert "healthcheck" in SERVICES[name]
                case "service_completed_successfully":
                    assert SERVICES[name]["restart"] == "no"
                case other:
                    pytest.fail(f"unknown condition {other}")


def test_kafka_is_the_version_the_tests_run_on() -> None:
    pom = ET.parse(ROOT / "tests" / "integration" / "kafka" / "pom.xml")
    version = pom.findtext("./{*}properties/{*}kafka.version")
    assert SERVICES["kafka"]["image"] == SERVICES["demo"]["image"] == f"docker.io/apache/kafka:{version}"


def test_the_demo_sends_every_recorded_decision_under_its_session() -> None:
    (volume,) = SERVICES["demo"]["volumes"]
    folder, _, rest = volume.partition(":")
    (script,) = SERVICES["demo"]["command"]
    sed = script.partition("|")[0].replace(rest.partition(":")[0], str(ROOT / folder))
    sent = subprocess.run(
        ["/bin/sh", "-c", sed], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    keyed = [line.split("\t", 1) for line in sent]
    assert len(keyed) > 200
    assert all(json.loads(value)["session_id"] == key for key, value in keyed)
    assert "--topic decision-logs " in script
    assert "parse.key=true" in script


def test_the_worker_keeps_its_state_where_the_image_lets_it() -> None:
    directory = settings_of_the_image()["EDDY_DATA_DIR"]
    for name in ("worker", "bridge"):
        assert OURS[name]["environment"]["EDDY_DATA_DIR"] == directory
        assert "volumes" not in OURS[name]  # the image has one for each container
    assert f"VOLUME {directory}\n" in DOCKERFILE
    assert f"--chown=10001:10001 {directory} {directory}\n" in DOCKERFILE


def test_the_image_runs_eddy_and_not_as_root() -> None:
    assert 'ENTRYPOINT ["eddy"]' in DOCKERFILE
    user = re.search(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    assert user
    assert int(user[1]) >= 1000


def test_the_image_holds_the_tested_versions() -> None:
    installs = re.findall(r"pip (?:--python \S+ )?install (.*)", DOCKERFILE)
    assert len(installs) == 4
    assert all(re.search(r"-c constraints/(openid|image)\.txt|--no-deps", install) for install in installs)


def test_what_the_image_copies_exists_and_reaches_the_build() -> None:
    copies = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
    sources = {source for copy in copies for source in copy.split()}
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert {"streams", "schemas", "topics", "constraints"} <= sources
    for source in sources:
        # A pattern is of what may have been built before.
        assert (ROOT / source).exists() or "*" in source
        assert any(fnmatch(source, pattern) for pattern in kept), source


def test_the_token_of_the_console_is_the_one_that_is_written_down() -> None:
    known = re.search(r"its token is `([^`]+)`", (ROOT / "docker-compose.yml").read_text())
    assert known
    tokens = (ROOT / "deploy" / "compose" / "console-tokens").read_text()
    assert tokens.splitlines()[-1] == f"you:operator:{hashlib.sha256(known[1].encode()).hexdigest()}"


def test_prometheus_scrapes_every_process_at_its_port() -> None:
    configuration = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    scraped = {
        one["names"][0]: one["port"]
        for job in configuration["scrape_configs"]
        for one in job["dns_sd_configs"]
    }
    ports = {
        name: service["environment"].get("EDDY_WEB_PORT", service["environment"].get("EDDY_CONSOLE_PORT"))
        for name, service in OURS.items()
        if name != "topics"
    }
    assert scraped == ports


def test_alertmanager_groups_by_labels_that_alerts_have() -> None:
    """By one that none has, the loops of all agents would be one notification."""
    configured = yaml.safe_load((ROOT / "deploy" / "compose" / "alertmanager.yml").read_text())
    [request] = SINKS["alertmanager"].requests(told(alert()), None, NOW_MS)
    [sent] = json.loads(request.body)
    assert set(configured["route"]["group_by"]) <= set(sent["labels"])


def test_nobody_knows_the_token_of_the_deployment_that_is_copied() -> None:
    example = (ROOT / "deploy" / "kubernetes" / "example" / "kustomization.yaml").read_text()
    words = {"", *re.findall(r"[\w-]+", example), "test", "secret", "password", "token", "admin", "changeme"}
    known = {hashlib.sha256(word.encode()).hexdigest() for word in words}
    digests = re.findall(r"\b[0-9a-f]{64}\b", example)
    assert digests
    assert known.isdisjoint(digests)
