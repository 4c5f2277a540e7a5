"""Where something was built from, as SLSA 1 says it: for `deploy/sign` and `deploy/sign-image`.

`python deploy/provenance.py image COMMIT` prints the predicate, which cosign wraps. With `dist COMMIT`
and the files of a release it prints the whole statement of in-toto about these, if they are those of that
commit. `parts FILE` checks that a file lists the parts of Eddy. Source: slsa.dev/spec/v1.0/provenance.
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
_URI = re.compile(r"[a-z][a-z0-9+.-]*:\S+")
#: What `make dist` makes of a version, by the name of the distribution.
_ENDINGS = ("-py3-none-any.whl", ".tar.gz")
_DISTRIBUTIONS = ("eddy_client", "eddy_streams")
_NATIVE = "eddy_native-"  # of `make wheel-native`, with a version of its own


def predicate(build: str, commit: str, builder: str) -> dict[str, Any]:
    """Say that a target of make, such as ``dist``, built something from a commit of this repository.

    Raises:
        SystemExit: That is no commit, or the builder is no URI.
    """
    if not _COMMIT.fullmatch(commit):
        sys.exit(f"{commit!r} is no commit: give all 40 digits, such as those of `git rev-parse HEAD`.")
    if not _URI.fullmatch(builder):
        sys.exit(f"BUILDER is {builder!r}, and no URI such as https://ci.example.com/eddy.")
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


def of_a_release(names: Sequence[str], commit: str) -> list[Path]:
    """Return the sdists and wheels of one version, which have to be all there, alone, and of a commit.

    Raises:
        SystemExit: They are not.
    """
    files = sorted(Path(name) for name in names if not name.startswith(_NATIVE))
    wheels = [file for file in files if file.match("eddy_streams-*.whl")]
    if len(wheels) != 1:
        sys.exit(f"Just one wheel of eddy_streams can be signed, not {len(wheels)}: run `make dist` again.")
    wheel = wheels[0]
    version = wheel.name.split("-")[1]
    wanted = [f"{each}-{version}{ending}" for each in _DISTRIBUTIONS for ending in _ENDINGS]
    if [file.name for file in files] != sorted(wanted):
        found = ", ".join(map(str, files))
        sys.exit(f"Those of {version}, and no others, have to be there: {found}. Run `make dist` again.")
    with ZipFile(wheel) as archive:
        built = archive.read("streams/commit.txt").decode().strip()
    if built != f"g{commit} 0":  # 1 where files differed from the commit
        sys.exit(f"{wheel} was built from {built}, not from {commit}: run `make dist` again.")
    return files


def check_parts(file: Path) -> None:
    """Check that a file is a list of parts, and that Eddy is among them.

    Raises:
        SystemExit: It is not.
    """
    try:
        listed = json.loads(file.read_bytes())
        names = {part["name"] for part in listed["components"]}
        right = listed["bomFormat"] == "CycloneDX" and "eddy-streams" in names
    except (ValueError, KeyError, TypeError):
        right = False
    if not right:
        sys.exit("/opt/eddy/sbom.cdx.json of the image does not list the parts of Eddy: nothing is signed.")


def main(build: str, *words: str) -> None:
    """Do what is asked for."""
    if build == "parts":
        check_parts(Path(words[0]))
        return
    commit, *names = words
    about = predicate(build, commit, os.environ.get("BUILDER") or _BY_HAND)
    said = statement(of_a_release(names, commit), about) if build == "dist" else about
    sys.stdout.write(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
