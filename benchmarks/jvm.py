"""The contender on the JVM: its jars fetched by Maven, its source compiled, both once."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.contender import ROOT
from streams.core.errors import ConfigurationError

_SOURCE: Final = ROOT / "benchmarks" / "contenders" / "kafka_streams"
_CACHE: Final = ROOT / ".cache" / "kafka-streams"
_PROGRAM: Final = "SmallJob"

#: As much as the job needs, so that the JVM does not size itself by a machine that it shares. The garbage
#: collector without threads of its own takes the least CPU on two cores.
_OPTIONS: Final = (
    "-Xms256m",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


def command(bootstrap: str, group: str, directory: str) -> list[str]:
    """Return the command that runs the Kafka Streams job.

    Raises:
        ConfigurationError: Java or Maven is missing, or the source does not compile.
        InfrastructureError: Maven could not fetch the jars.
    """
    from tests.integration.maven import program  # noqa: PLC0415 - only this contender needs Java

    return [
        program("java"),
        *_OPTIONS,
        "-cp",
        f"{_built()}/*:{_built()}",
        _PROGRAM,
        bootstrap,
        group,
        directory,
    ]


def _built() -> Path:
    files = (_SOURCE / "pom.xml", _SOURCE / f"{_PROGRAM}.java")
    built = _CACHE / hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    if not built.is_dir():
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as directory:
            fresh = Path(directory) / "built"
            _fetch(files[0], fresh)
            _compile(files[1], fresh)
            fresh.rename(built)
    return built


def _fetch(pom: Path, into: Path) -> None:
    from tests.integration.maven import DEPENDENCIES, run_maven  # noqa: PLC0415

    to = ["-DincludeScope=runtime", f"-DoutputDirectory={into}"]
    run_maven(["-f", str(pom), f"{DEPENDENCIES}:copy-dependencies", *to], str(pom))


def _compile(source: Path, into: Path) -> None:
    from tests.integration.maven import program  # noqa: PLC0415

    done = subprocess.run(
        [program("javac"), "--release", "17", "-cp", f"{into}/*", "-d", str(into), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ConfigurationError(f"{source} does not compile:\n{done.stderr[-4000:]}")
