"""Images that stand in for those of docker-compose.yml where no registry of images can be reached.

`python -m tests.containers.stand_ins` makes those that Podman does not have, from Debian's packages and Maven
Central: some ten minutes and 1 GB. Each has the name of the image that it stands for, so that the Dockerfile
and docker-compose.yml stay as users have them.

| image | what stands in for it |
|---|---|
| python:3.11-slim | Debian 12 with its own Python 3.11, by debootstrap |
| apache/kafka | the same, Java 17 and the jars of that version; the official image's own class starts it |
| prom/prometheus, prom/alertmanager | Debian's packages of both, which are older |
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml

from tests.integration.maven import DEPENDENCIES, CentralUnreachableError, run_maven
from tests.pages import ROOT

FOLDER: Final = Path(__file__).parent
CACHE: Final = ROOT / ".cache" / "containers"
PYTHON: Final = "docker.io/library/python:3.11-slim"
PACKAGES: Final = (
    "podman buildah runc debootstrap netavark aardvark-dns iptables containernetworking-plugins catatonit"
)
#: Debian 12's crun refuses some machines' cgroups, and its limits may be above those of the machine.
CONFIGURATION: Final = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
"""
_SERVICES: Final = "localhost/stand-in-services"
_APT: Final = ["openjdk-17-jre-headless", "prometheus", "prometheus-alertmanager"]


def environment() -> dict[str, str]:
    """Return the environment for Podman, with a configuration that suits this machine."""
    CACHE.mkdir(parents=True, exist_ok=True)
    (path := CACHE / "containers.conf").write_text(CONFIGURATION)
    return {"CONTAINERS_CONF": str(path), **os.environ}


def run(*command: str | Path, **options: Any) -> None:
    """Run a program to its end.

    Raises:
        CalledProcessError: it failed, and has said why.
    """
    subprocess.run([*map(str, command)], check=True, env=environment(), **options)


def there(image: str) -> bool:
    """Tell whether Podman has an image."""
    done = subprocess.run(["podman", "image", "exists", image], env=environment(), check=False)
    return done.returncode == 0


def services() -> dict[str, str]:
    """Return the images of docker-compose.yml that are not ours, by what they are."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return {name: compose[name]["image"] for name in ("kafka", "prometheus", "alertmanager")}


def python_image() -> None:
    """Make the base image of the Dockerfile."""
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        root = Path(scratch) / "root"
        include = "--include=ca-certificates,python3,python3-venv,python3-pip"
        run("debootstrap", "--variant=minbase", include, "bookworm", root)
        (root / "usr" / "local" / "bin" / "python").symlink_to("/usr/bin/python3")
        for kept in [
            *(root / "var/cache/apt/archives").glob("*.deb"),
            *(root / "var/lib/apt/lists").glob("*_*"),
        ]:
            kept.unlink()
        archive = Path(scratch) / "root.tar"
        run("tar", "--create", f"--file={archive}", f"--directory={root}", ".")
        run("podman", "import", archive, PYTHON)


def service_images() -> None:
    """Make the images of Kafka, Prometheus and Alertmanager: one, with three ways to start."""
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        pom, jars = FOLDER / "pom.xml", Path(scratch) / "libs"
        into = ["-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
        run_maven(["-f", str(pom), f"{DEPENDENCIES}:copy-dependencies", *into], str(pom))
        # Java's certificates are written beside those of the machine: into a copy.
        shutil.copytree("/etc/ssl/certs", certificates := Path(scratch) / "certificates")
        shared = [f"--volume={path}:{path}:ro" for path in ("/etc/apt", "/etc/resolv.conf", "/etc/hosts")]
        for name in ("Containerfile", "kafka.sh", "tool.sh"):
            shutil.copy(FOLDER / name, scratch)
        run(
            *("podman", "build", "--network=host", *shared, f"--volume={certificates}:/etc/ssl/certs"),
            *(f"--build-arg=PACKAGES={' '.join(_APT)}", f"--tag={_SERVICES}", scratch),
        )
    ways = {
        "kafka": 'ENTRYPOINT ["/opt/kafka/start.sh"]',
        "prometheus": 'ENTRYPOINT ["prometheus", "--config.file=/etc/prometheus/prometheus.yml",'
        ' "--storage.tsdb.path=/tmp/prometheus"]',
        "alertmanager": 'ENTRYPOINT ["prometheus-alertmanager"]',
    }
    for name, image in services().items():
        recipe = f"FROM {_SERVICES}\n{ways[name]}\n"
        run("podman", "build", f"--tag={image}", "-", input=recipe, text=True)


def main() -> int:
    """Make what is missing; return 75 (try later) where it cannot be made here."""
    lacking = [name for name in ("podman", "debootstrap", "mvn") if shutil.which(name) is None]
    if lacking or os.geteuid() != 0:
        sys.stderr.write(f"Stand-ins need root and {', '.join(lacking)}: apt-get install {PACKAGES} maven\n")
        return os.EX_TEMPFAIL
    if not there(PYTHON):
        python_image()
    if not all(map(there, services().values())):
        try:
            service_images()
        except CentralUnreachableError as error:
            sys.stderr.write(f"{error}\n")
            return os.EX_TEMPFAIL
    return 0


if __name__ == "__main__":
    sys.exit(main())
