"""The jars of Apache Kafka: resolved once by Maven, kept under the hash of the pom.

`python -m tests.integration.kafka_jars` fetches them and prints their directory. Exit codes: 0 they are
there, 75 (EX_TEMPFAIL) Maven Central gave no answer to anything, 1 any other failure.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from streams.errors import ConfigurationError, InfrastructureError

POM = Path(__file__).parent / "kafka" / "pom.xml"
CACHE = Path(__file__).parents[2] / ".cache" / "kafka-libs"
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_ATTEMPTS = 3
_FETCH_SECONDS = 600


class CentralUnreachableError(InfrastructureError):
    """Maven Central answered no request at all: nothing can be said about the code under test."""


def program(name: str) -> str:
    """Return the path of a program the Kafka broker needs."""
    found = shutil.which(name)
    if found is None:
        raise ConfigurationError(
            f"`{name}` is not on the PATH: Apache Kafka needs Java 17 or newer and Maven."
        )
    return found


def kafka_jars(maven_options: Sequence[str] = (), cache: Path = CACHE) -> Path:
    """Return the directory of the jars, fetching them when they are not there yet.

    Raises:
        ConfigurationError: Maven is missing.
        CentralUnreachableError: Maven Central cannot be reached at all.
        InfrastructureError: Maven failed in any other way.
    """
    libraries = cache / hashlib.sha256(POM.read_bytes()).hexdigest()[:16]
    if not libraries.is_dir():
        libraries.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            _resolve(Path(fresh) / "jars", maven_options)
            try:
                (Path(fresh) / "jars").rename(libraries)
            except OSError:
                # Another run of the tests fetched them at the same time: one copy is as good as the other.
                if not libraries.is_dir():
                    raise
    return libraries


def _resolve(into: Path, maven_options: Sequence[str]) -> None:
    arguments = ["-B", "-U", "-f", str(POM), _GOAL, "-DincludeScope=runtime", f"-DoutputDirectory={into}"]
    said = ""
    # Maven keeps what it received, so another attempt goes on from there.
    for _ in range(_ATTEMPTS):
        try:
            run = subprocess.run(
                [program("mvn"), *arguments, *maven_options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_FETCH_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as expired:
            output = expired.output or b""
            said += output.decode(errors="replace") if isinstance(output, bytes) else output
            break
        if run.returncode == 0:
            return
        said += run.stdout
    asked, answered = (
        "Downloading from" in said,
        "Downloaded from" in said or "Could not find artifact" in said,
    )
    if asked and not answered:
        raise CentralUnreachableError("Maven Central cannot be reached: not one of its files arrived.")
    raise InfrastructureError(f"Maven could not resolve {POM}:\n{said[-4000:]}")


def main() -> int:
    """Fetch the jars; the exit code tells how that went."""
    try:
        sys.stdout.write(f"{kafka_jars()}\n")
    except CentralUnreachableError as error:
        sys.stderr.write(f"{error}\n")
        return os.EX_TEMPFAIL
    return 0


if __name__ == "__main__":
    sys.exit(main())
