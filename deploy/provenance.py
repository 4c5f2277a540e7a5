"""Where something was built from, as SLSA 1 says it: for `deploy/sign` and `deploy/sign-image`.

`python deploy/provenance.py BUILD COMMIT` prints the predicate, for a program that wraps it, such as cosign.
With files after it, it prints the whole statement of in-toto about these.
Source: slsa.dev/spec/v1.0/provenance.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://slsa.dev/provenance/v1"
#: Nobody but a maintainer: level 1. A build service names itself in BUILDER.
_BY_HAND = "urn:eddy:builder:maintainer"
_COMMIT = re.compile(r"[0-9a-f]{40}")


def predicate(build: str, commit: str, builder: str) -> dict[str, Any]:
    """Say that a target of make, such as ``dist``, built something from a commit of this repository."""
    return {
        "buildDefinition": {
            "buildType": f"urn:eddy:build:make-{build}",
            "externalParameters": {"target": build, "commit": commit},
            "resolvedDependencies": [{"name": "source", "digest": {"gitCommit": commit}}],
        },
        "runDetails": {"builder": {"id": builder}},
    }


def statement(files: Sequence[Path], about: dict[str, Any]) -> dict[str, Any]:
    """Say the same of files, by their checksums."""
    return {
        "_type": _STATEMENT,
        "subject": [
            {"name": file.name, "digest": {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}}
            for file in files
        ],
        "predicateType": _PREDICATE,
        "predicate": about,
    }


def other_commit(wheel: Path, commit: str) -> str:
    """Return which commit a wheel was built from, if it says another one; empty if not."""
    with ZipFile(wheel) as archive:
        if "streams/commit.txt" not in archive.namelist():
            return ""
        written = archive.read("streams/commit.txt").decode().removeprefix("g")
    return "" if commit.startswith(written) and len(written) > 6 else written or "none"


def main(build: str, commit: str, *names: str) -> None:
    """Print what was asked for.

    Raises:
        SystemExit: That is no commit, or a wheel was built from another one.
    """
    if not _COMMIT.fullmatch(commit):
        sys.exit(f"{commit!r} is no commit: give all 40 digits, such as those of `git rev-parse HEAD`.")
    files = [Path(name) for name in names]
    for file in files:
        if file.suffix == ".whl" and (other := other_commit(file, commit)):
            sys.exit(
                f"{file.name} was built from commit {other}, not from {commit[:12]}: run `make dist` again."
            )
    about = predicate(build, commit, os.environ.get("BUILDER", _BY_HAND))
    sys.stdout.write(json.dumps(statement(files, about) if files else about, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
