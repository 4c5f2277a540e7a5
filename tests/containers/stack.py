"""The services of docker-compose.yml, started by podman-compose in the order that the file asks for.

Podman 4 knows no `depends_on` with a condition, and without systemd no timer runs health checks. Both are
done here: a service starts when those that it names are healthy or have ended well, and checks are run
by hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.containers.stand_ins import environment
from tests.pages import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
PATIENCE_SECONDS = 240
_POLL_SECONDS = 1.0


def is_healthy(container: str) -> bool:
    """Run the check of a container once."""
    done = subprocess.run(
        ["podman", "healthcheck", "run", container], env=environment(), capture_output=True, check=False
    )
    return done.returncode == 0


def podman(*words: str) -> str:
    """Run Podman and return what it printed.

    Raises:
        AssertionError: it failed.
    """
    done = subprocess.run(["podman", *words], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"podman {' '.join(words)}: {done.stderr}"
    return done.stdout


class Stack:
    """The running services; they and their volumes are gone after the block.

    Args:
        project: The prefix of the names of the containers.
    """

    def __init__(self, project: str) -> None:
        self.project = project

    def __enter__(self) -> Self:
        self._remove()  # what an earlier run left, if it was killed
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        """Remove everything, also replicas, which podman-compose leaves behind."""
        named = f"label=io.podman.compose.project={self.project}"
        if containers := podman("ps", "--all", "--quiet", "--filter", named).split():
            podman("rm", "--force", "--time", "0", "--volumes", *containers)
        self.compose("--profile", "demo", "down", "--volumes")

    def compose(self, *words: str) -> str:
        """Run podman-compose and return what it printed.

        Raises:
            AssertionError: it failed.
        """
        program = Path(sys.executable).with_name("podman-compose")
        done = subprocess.run(
            [program, "--no-ansi", "--project-name", self.project, *words],
            cwd=ROOT,
            env=environment() | {"PATH": f"{program.parent}:{environment()['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"podman-compose {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def up(self, *services: str, options: Sequence[str] = ()) -> None:
        """Start services, each when what it waits for is there."""
        for service in services:
            for name, condition in COMPOSE["services"][service].get("depends_on", {}).items():
                if condition["condition"] == "service_healthy":
                    self.healthy(name)
                else:
                    self.ended_well(name)
            replicas = COMPOSE["services"][service].get("deploy", {}).get("replicas", 1)
            self.compose(
                *options,
                *("up", "--detach", "--no-build", "--no-deps", f"--scale={service}={replicas}", service),
            )

    def containers(self, service: str) -> list[str]:
        """Return the names of the containers of a service."""
        named = f"label=com.docker.compose.service={service}"
        project = f"label=io.podman.compose.project={self.project}"
        listed = podman("ps", "--all", "--filter", named, "--filter", project, "--format", "{{.Names}}")
        return sorted(listed.split())

    def inspect(self, container: str) -> dict[str, Any]:
        """Return what Podman knows of a container."""
        found: dict[str, Any] = json.loads(podman("inspect", container))[0]
        return found

    def healthy(self, service: str) -> None:
        """Wait until the check of every container of a service succeeds."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        waiting = self.containers(service)
        assert waiting, f"{service} was not started"
        while waiting:
            waiting = [name for name in waiting if not is_healthy(name)]
            for name in waiting:
                assert self.inspect(name)["State"]["Running"], f"{name} has ended: {self.log(name)}"
                assert time.monotonic() < deadline, f"{name} is not healthy: {self.log(name)}"
            time.sleep(_POLL_SECONDS if waiting else 0)

    def ended_well(self, service: str) -> None:
        """Wait for the end of a service, which has to be a good one."""
        for name in self.containers(service):
            status = podman("wait", name).strip()
            assert status == "0", f"{name} ended with {status}: {self.log(name)}"

    def log(self, container: str) -> str:
        """Return what a container has printed."""
        done = subprocess.run(
            ["podman", "logs", container], env=environment(), capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    def until(self, service: str, *words: str) -> str:
        """Return the first line of a service that has all the words, as soon as there is one."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            lines = [line for name in self.containers(service) for line in self.log(name).splitlines()]
            if found := next((line for line in lines if all(word in line for word in words)), None):
                return found
            last = "\n".join(lines[-20:])
            assert time.monotonic() < deadline, f"{service} never said {words}. The last it said:\n{last}"
            time.sleep(_POLL_SECONDS)
