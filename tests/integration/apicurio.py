"""Apicurio Registry, which speaks as Confluent's does: from Maven Central, with its data in memory."""

from __future__ import annotations

import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streams.core.errors import InfrastructureError
from streams.kafka.embedded.child import Child
from tests.archives import unpack
from tests.integration.maven import fetched, program
from tests.ports import own_port

VERSION = "3.0.9"  # the last for Java 17
CACHE = Path(__file__).parents[2] / ".cache" / "apicurio"
START_SECONDS = 180.0
_POLL_SECONDS = 0.1
_JAVA_OPTIONS = ("-Xmx640m", "-XX:TieredStopAtLevel=1")


def apicurio() -> Path:
    """Return the program, fetching it when it is not there yet. It raises what `maven.fetched` does."""
    artifact = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
    return fetched(CACHE / VERSION, artifact, _unpacked) / f"apicurio-registry-app-{VERSION}-runner.jar"


def _unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as packed:
        unpack(packed, folder / "whole")
    return folder / "whole"


@contextmanager
def running_apicurio() -> Iterator[str]:
    """Run one for as long as the block lasts; yield the URL for `EDDY_SCHEMA_REGISTRY_URL`."""
    port = own_port()
    address = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}"]
    command = [program("java"), *_JAVA_OPTIONS, *address, "-jar", str(apicurio())]
    url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
    with Child(command, scratch=Path(tempfile.mkdtemp(prefix="eddy-registry-"))) as child:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(url):
            if child.ended(within=_POLL_SECONDS) or time.monotonic() > deadline:
                raise InfrastructureError(f"Apicurio Registry does not answer:\n{child.said()}")
        yield url


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/subjects", timeout=30) as answer:
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False
