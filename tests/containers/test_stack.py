"""docker-compose.yml, started for real: agents go in circles, and somebody hears of it."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.containers.stack import Stack, podman

pytestmark = [pytest.mark.containers, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def stack(image: str) -> Iterator[Stack]:
    """Yield everything, running."""
    with Stack("eddy-compose-test") as stack:
        stack.up(
            "kafka",
            "prometheus",
            "alertmanager",
            "webhook",
            "topics",
            "worker",
            "bridge",
            "console",
            "notify",
        )
        for service in ("worker", "bridge", "console", "notify"):
            stack.healthy(service)
        yield stack


def answer(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answered:
        return json.load(answered)


def up() -> set[tuple[str, str]]:
    """Return the jobs that Prometheus scrapes, with how it goes."""
    targets = answer("http://127.0.0.1:9090/api/v1/targets")["data"]["activeTargets"]
    return {(target["labels"]["job"], target["health"]) for target in targets}


def test_an_alert_of_a_looping_agent_arrives_at_a_webhook(stack: Stack) -> None:
    stack.up("demo", options=("--profile", "demo"))
    told = json.loads(stack.until("webhook", "firing"))
    assert told["alertname"] == "AgentLoop"
    assert told["summary"].startswith(told["agent_id"])
    assert {"agent_id", "session_id", "rule", "tokens", "cost"} <= told.keys()


def test_both_workers_share_the_partitions(stack: Stack) -> None:
    workers = stack.containers("worker")
    assert len(workers) == 2
    assert all("Ready." in stack.log(name) for name in workers)


def test_prometheus_scrapes_every_process(stack: Stack) -> None:
    stack.until("prometheus", "Server is ready")
    seen: set[tuple[str, str]] = set()
    for _ in range(60):
        seen = up()
        if {("eddy", "up"), ("eddy-bridge", "up"), ("eddy-console", "up")} <= seen:
            break
        time.sleep(1)
    assert {("eddy", "up"), ("eddy-bridge", "up"), ("eddy-console", "up")} <= seen


def test_the_console_lets_nobody_in_without_the_token(stack: Stack) -> None:
    with urllib.request.urlopen("http://127.0.0.1:8070/livez", timeout=30) as answered:
        assert answered.status == 200
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen("http://127.0.0.1:8070/", timeout=30)


def test_processes_run_without_rights_on_a_disk_that_they_cannot_write(stack: Stack) -> None:
    for service in ("worker", "bridge", "console", "notify"):
        host = stack.inspect(stack.containers(service)[0])["HostConfig"]
        assert host["ReadonlyRootfs"]
        assert stack.inspect(stack.containers(service)[0])["EffectiveCaps"] in (None, [])


def test_a_worker_that_is_told_to_stop_ends_well(stack: Stack) -> None:
    name = stack.containers("worker")[-1]
    podman("stop", "--time", "45", name)
    assert stack.inspect(name)["State"]["ExitCode"] == 0
    podman("start", name)  # others need it
    stack.healthy("worker")
