"""The image, built once for all tests of containers, and where it cannot be built, why."""

import os
import shutil
import subprocess

import pytest

from tests.containers import stand_ins
from tests.containers.stack import podman
from tests.pages import ROOT

IMAGE = "localhost/eddy-streams"
#: The build is without the network of the machine and its certificates otherwise.
FLAGS = (
    "--network host --volume /etc/ssl/certs:/etc/ssl/certs:ro --volume /etc/hosts:/etc/hosts:ro"
    " --env PIP_CERT=/etc/ssl/certs/ca-certificates.crt"
)


def build(image: str = IMAGE, flags: str = "") -> None:
    """Build the image as `make image` does."""
    variables = {**stand_ins.environment(), "IMAGE": image, "IMAGE_FLAGS": f"{FLAGS} {flags}".strip()}
    built = subprocess.run(
        [ROOT / "deploy" / "image"], env=variables, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr[-4000:]


@pytest.fixture(scope="session")
def image() -> str:
    """Return the name of the image, which is built from this tree."""
    if shutil.which("podman") is None:
        pytest.skip(f"no engine: as root, apt-get install {stand_ins.PACKAGES}")
    if stand_ins.main() == os.EX_TEMPFAIL:
        pytest.skip("the images that stand in for those of the registries cannot be made here")
    build()
    return IMAGE


@pytest.fixture(scope="session")
def base_size() -> int:
    """Return how many bytes the stand-in for the base image has."""
    return int(podman("image", "inspect", "--format", "{{.Size}}", stand_ins.PYTHON))
