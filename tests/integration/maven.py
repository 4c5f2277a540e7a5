"""Runs Maven, and distinguishes a Maven Central that gives no answer from every other failure."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from streams.core.errors import ConfigurationError, InfrastructureError

DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
# Later ones want its parent's pom, which Maven Central lacks.
_GET = "org.apache.maven.plugins:maven-dependency-plugin:2.8:get"
_ATTEMPTS = 3
_FETCH_SECONDS = 600


class CentralUnreachableError(InfrastructureError):
    """Maven Central answered no request at all: nothing can be said about the code under test."""


def program(name: str) -> str:
    """Return the path of a program that what Maven fetches needs."""
    found = shutil.which(name)
    if found is None:
        raise ConfigurationError(f"`{name}` is not on the PATH: Java 17 or newer and Maven are needed.")
    return found


def fetched(folder: Path, artifact: str, unpack: Callable[[Path, Path], Path]) -> Path:
    """Return a folder with what an artifact holds, fetching it when it is not there yet.

    Args:
        folder: Where it is kept.
        artifact: of Maven Central, as `group:name:version:kind`.
        unpack: Unpacks an archive into an empty folder, and returns the folder that is to be kept.

    Raises:
        ConfigurationError: Maven is missing.
        CentralUnreachableError: Maven Central cannot be reached at all.
        InfrastructureError: Maven failed in any other way.
    """
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
            archive = Path(fresh) / "archive"
            run_maven([_GET, "-Dtransitive=false", f"-Dartifact={artifact}", f"-Ddest={archive}"], artifact)
            unpack(archive, Path(fresh)).rename(folder)
    return folder


def run_maven(arguments: Sequence[str], what: str) -> None:
    """Run Maven, again if it fails.

    Args:
        arguments: of the program.
        what: is resolved, for messages.

    Raises:
        ConfigurationError: Maven is missing.
        CentralUnreachableError: Maven Central cannot be reached at all.
        InfrastructureError: Maven failed in any other way.
    """
    said = ""
    # Maven keeps what it received, so another attempt continues from there.
    for _ in range(_ATTEMPTS):
        try:
            run = subprocess.run(
                [program("mvn"), "-B", "-U", *arguments],
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
    raise InfrastructureError(f"Maven could not resolve {what}:\n{said[-4000:]}")
