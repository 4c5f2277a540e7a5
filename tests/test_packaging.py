"""What is installed is what was tested, and nothing the code reads is missing from the wheel."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGES = ("streams", "schemas", "topics")


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pinned}


def needed(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> Iterator[str]:
    """Yield every installed distribution that this one needs, directly or not."""
    if (name, extras) in seen:
        return
    seen.add((name, extras))
    try:
        requirements = distribution(name).requires or []
    except PackageNotFoundError:
        return  # of another platform or extra
    yield canonicalize_name(name)
    for requirement in map(Requirement, requirements):
        wanted = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        if wanted:
            yield from needed(requirement.name, frozenset(requirement.extras), seen)


def test_every_package_needed_is_pinned_at_the_version_tested() -> None:
    packages = set(needed("eddy-streams", frozenset({"dev"}), set())) - {"eddy-streams"}
    assert {"faust-streaming", "click", "ruff", "attrs"} <= packages
    assert {name: distribution(name).version for name in packages} == {
        name: pins().get(name, "no pin") for name in packages
    }


def test_the_wheel_holds_every_file_the_code_reads(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = [
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
    ]
    subprocess.run([sys.executable, *build, str(tmp_path), str(source)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("eddy_streams-*.whl")
    there = {
        path.relative_to(source).as_posix()
        for package in PACKAGES
        for path in (source / package).rglob("*")
        if path.is_file()
    }
    assert len(there) > 50
    assert there - set(ZipFile(wheel).namelist()) == set()
