"""The image, built and run: small, not root, read-only, the same each time, with a list of its parts."""

import json
import re
import subprocess
import time

import pytest

from tests import pins
from tests.containers.conftest import build
from tests.containers.stack import PATIENCE_SECONDS, is_healthy, podman
from tests.pages import ROOT

pytestmark = [pytest.mark.containers, pytest.mark.timeout(900)]

MEGABYTE = 1_000_000
#: What python:3.11-slim takes: 45 MB to fetch, below 130 MB on the disk.
OFFICIAL_BASE = 130 * MEGABYTE
LARGEST = 265 * MEGABYTE

CAREFULLY = (
    "run",
    "--rm",
    "--read-only",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--network=none",
)


def test_it_takes_less_than_265_megabytes_with_the_official_base(image: str, base_size: int) -> None:
    own = int(podman("image", "inspect", "--format", "{{.Size}}", image)) - base_size
    assert OFFICIAL_BASE + own < LARGEST, f"{own / MEGABYTE:.0f} MB beside the base"


def test_it_runs_as_nobody_in_particular_and_writes_nowhere_but_to_its_volume(image: str) -> None:
    shell = (
        "id -u; touch /opt/eddy/x /usr/x 2>&1 | grep -c 'Read-only'; touch /var/lib/eddy/x && echo written"
    )
    said = podman(*CAREFULLY, "--entrypoint=sh", image, "-c", shell).split()
    assert said == ["10001", "2", "written"]


def test_every_command_starts_without_root_and_without_a_disk(image: str) -> None:
    said = podman(*CAREFULLY, image, "settings")
    assert "EDDY_BOOTSTRAP_SERVERS" in said


def test_it_names_its_commit(image: str) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"(commit {head.stdout[:12]})" in podman(*CAREFULLY, image, "--version")


def test_it_judges_a_recording(image: str) -> None:
    folder = "/opt/eddy/lib/python3.11/site-packages/streams/formats/recordings"
    said = podman(*CAREFULLY, image, "detect", f"{folder}/read_loop.jsonl")
    assert "LOOP" in said


def test_it_has_the_native_core_exactly_if_its_wheel_was_built(image: str) -> None:
    built = [*(ROOT / "dist").glob("eddy_native-*.whl")]
    say = "from streams.core.native import NATIVE; print(NATIVE.in_use)"
    assert podman(*CAREFULLY, "--entrypoint=python", image, "-c", say).strip() == str(bool(built))


def test_nothing_is_compiled_at_the_start(image: str) -> None:
    shell = "cd /opt/eddy/lib/*/*/streams; find . -name '*.py' | wc -l; find . -name '*.pyc' | wc -l"
    sources, compiled = podman(*CAREFULLY, "--entrypoint=sh", image, "-c", shell).split()
    assert int(sources) == int(compiled) > 300


def test_it_lists_what_is_in_it_at_the_versions_that_are_tested(image: str) -> None:
    listed = json.loads(podman(*CAREFULLY, "--entrypoint=cat", image, "/opt/eddy/sbom.cdx.json"))
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.6")
    versions = {part["name"].lower().replace("_", "-"): part["version"] for part in listed["components"]}
    pinned = pins.pins("run") | pins.pins("openid")
    assert versions.keys() - {"eddy-streams", "eddy-client", "eddy-native"} <= {str(name) for name in pinned}
    assert all(versions[name] == version for name, version in pinned.items() if name in versions)
    assert {"aiokafka", "rocksdict", "authlib", "eddy-streams"} <= versions.keys()
    assert "serialNumber" not in listed  # a random one


def test_it_has_a_health_check_and_says_what_it_is(image: str) -> None:
    found = json.loads(podman("image", "inspect", image))[0]
    assert found["Healthcheck"]["Test"] == ["CMD", "python", "-m", "streams.observe.health_check"]
    assert found["Config"]["User"] == "10001:10001"
    assert found["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_whatever_command_runs_in_it_the_health_check_asks_that(image: str) -> None:
    """Here the console, on a port of its own: not that of a worker."""
    recording = "/opt/eddy/lib/python3.11/site-packages/streams/formats/recordings/read_loop.jsonl"
    name = podman("run", "--detach", *CAREFULLY[2:], image, "console", recording, "--port", "8123").strip()
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_healthy(name):
            assert time.monotonic() < deadline, podman("logs", name)
            time.sleep(0.5)
        podman("kill", "--signal", "STOP", name)
        assert not is_healthy(name)
    finally:
        podman("rm", "--force", "--volumes", "--time", "0", name)


def test_two_builds_give_the_same_bytes(image: str) -> None:
    build("localhost/eddy-again", "--no-cache")
    layers = [
        json.loads(podman("image", "inspect", name))[0]["RootFS"]["Layers"]
        for name in (image, "localhost/eddy-again")
    ]
    podman("rmi", "localhost/eddy-again")
    assert layers[0] == layers[1]
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", layer) for layer in layers[0])
