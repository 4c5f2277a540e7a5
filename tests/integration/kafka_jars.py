"""The jars of Apache Kafka: resolved once by Maven, kept under the hash of the pom and the version.

The version is that of the pom, or what the environment variable KAFKA_VERSION says, such as 3.9.2.

`python -m tests.integration.kafka_jars` fetches them and prints their directory. Exit codes: 0 they are
there, 75 (EX_TEMPFAIL) Maven Central gave no answer to anything, 1 any other failure.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.integration.maven import DEPENDENCIES, CentralUnreachableError, run_maven

POM = Path(__file__).parent / "kafka" / "pom.xml"
CACHE = Path(__file__).parents[2] / ".cache" / "kafka-libs"


def kafka_jars(maven_options: Sequence[str] = (), cache: Path = CACHE) -> Path:
    """Return the directory of the jars, fetching them when they are not there yet.

    Raises:
        ConfigurationError: Maven is missing.
        CentralUnreachableError: Maven Central cannot be reached at all.
        InfrastructureError: Maven failed in any other way.
    """
    version = os.environ.get("KAFKA_VERSION", "")
    libraries = cache / hashlib.sha256(POM.read_bytes() + version.encode()).hexdigest()[:16]
    if not libraries.is_dir():
        libraries.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            into = ["-DincludeScope=runtime", f"-DoutputDirectory={Path(fresh) / 'jars'}"]
            chosen = [f"-Dkafka.version={version}"] if version else []
            options = [*into, *chosen, *maven_options]
            run_maven(["-f", str(POM), f"{DEPENDENCIES}:copy-dependencies", *options], str(POM))
            try:
                (Path(fresh) / "jars").rename(libraries)
            except OSError:
                # Another run of the tests fetched them at the same time: one copy is as good as the other.
                if not libraries.is_dir():
                    raise
    return libraries


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
