"""The versions in `constraints/`, one file for each purpose, and the packages that each purpose needs.

`make pins` writes the installed versions to the files. A purpose is what an extra of `pyproject.toml` is for;
`run` is the job itself. A file holds what its purpose adds to the file that it refers to. `sources` and
`gateway` refer to none: they run in environments of their own, without Eddy.
"""

import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "constraints"
#: The purposes, each with the one whose file its own file refers to.
ADDS_TO = {
    "run": None,
    "image": "run",
    "demo": "run",
    "apprise": "demo",
    "openid": "apprise",
    "dev": "openid",
    "bench": "dev",
    "browser": "dev",
    "deploy": "dev",
    "docs": "dev",
    "fuzz": "dev",
    "hooks": "dev",
    "release": "dev",
    "guard": "dev",
    "sources": None,
    "gateway": None,
}

#: What is built here, at whatever version it has.
OWN = frozenset({"eddy-streams", "eddy-client"})

#: The project as `pyproject.toml` describes it.
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def file_of(purpose: str) -> Path:
    """Return the file with the versions of a purpose."""
    return FOLDER / f"{purpose}.txt"


def pins(purpose: str) -> dict[NormalizedName, str]:
    """Return the version of each package in the file of a purpose alone."""
    lines = (line for line in file_of(purpose).read_text().splitlines() if not line.startswith(("#", "-c ")))
    pinned = (line.split("==") for line in lines)
    return {canonicalize_name(name): version for name, version in pinned}


def chain(purpose: str) -> Iterator[str]:
    """Yield a purpose and every purpose it adds to."""
    link: str | None = purpose
    while link is not None:
        yield link
        link = ADDS_TO[link]


def required(purpose: str) -> list[Requirement]:
    """Return the packages that `pyproject.toml` itself names for a purpose alone."""
    named = PROJECT["dependencies"] if purpose == "run" else PROJECT["optional-dependencies"][purpose]
    return [one for one in map(Requirement, named) if one.name not in OWN]


def added(purpose: str) -> dict[NormalizedName, str]:
    """Return the installed version of each package that a purpose adds, whether it is named or follows.

    Raises:
        PackageNotFoundError: The purpose is not installed.
    """
    names = _needed(purpose)
    if (before := ADDS_TO[purpose]) is not None:
        names -= _needed(before)
    return {name: distribution(name).version for name in sorted(names)}


def _needed(purpose: str) -> set[NormalizedName]:
    seen: set[tuple[str, frozenset[str]]] = set()
    for link in chain(purpose):
        for requirement in required(link):
            distribution(requirement.name)
            _follow(requirement, seen)
    return {canonicalize_name(name) for name, _ in seen}


def _follow(requirement: Requirement, seen: set[tuple[str, frozenset[str]]]) -> None:
    extras = frozenset(requirement.extras)
    if (requirement.name, extras) in seen:
        return
    try:
        below = distribution(requirement.name).requires or []
    except PackageNotFoundError:
        return  # of another platform
    seen.add((requirement.name, extras))
    for one in map(Requirement, below):
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            _follow(one, seen)


def main() -> None:
    """Write the files of the given purposes, or of all, as far as they are installed, and name the others."""
    for purpose in sys.argv[1:] or ADDS_TO:
        try:
            versions = added(purpose)
        except PackageNotFoundError as missing:
            sys.stdout.write(f"{purpose}: left as it is, since {missing.name} is not installed\n")
            continue
        path = file_of(purpose)
        head = [line for line in path.read_text().splitlines() if line.startswith(("#", "-c "))]
        lines = [*head, *(f"{name}=={version}" for name, version in versions.items())]
        path.write_text("\n".join(lines) + "\n")
        sys.stdout.write(f"{purpose}: {len(versions)} packages\n")


if __name__ == "__main__":
    main()
