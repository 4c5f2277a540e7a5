"""What `make setup` does where an environment cannot be made, or was left half-made."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = ".venv/bin/python"

#: As Debian's Python without python3-venv: an environment without pip is left.
WITHOUT_PIP = """
case "$*" in
  "-m venv"*)
    mkdir -p .venv/bin && ln -sf "$REAL" .venv/bin/python
    echo 'ensurepip is not available'
    exit 1 ;;
  *) exec "$REAL" "$@" ;;
esac
"""
WITH_PIP = """
case "$*" in
  "-m venv"*)
    rm -rf .venv
    mkdir -p .venv/bin .venv/lib/python3.11/site-packages/pip
    ln -s "$REAL" .venv/bin/python
    touch .venv/lib/python3.11/site-packages/pip/__main__.py ;;
  *) exec "$REAL" "$@" ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the Makefile, and projects of which nothing is installed."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "client").mkdir()
    for project in (tmp_path, tmp_path / "client"):
        (project / "pyproject.toml").touch()
    return tmp_path


def make(folder: Path, python: str, target: str = PYTHON) -> subprocess.CompletedProcess[str]:
    """Make the environment where every Python is the given program."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("python3.11", "python3"):
        (programs / name).write_text(f"#!/bin/sh\n{python}")
        (programs / name).chmod(0o755)
    path = os.pathsep.join([str(programs), *os.get_exec_path()])
    return subprocess.run(
        ["make", "--no-print-directory", target],
        cwd=folder,
        env={**os.environ, "PATH": path, "REAL": sys.executable, "MAKEFLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def has_pip(folder: Path) -> bool:
    return any(folder.glob(".venv/lib/python3*/site-packages/pip/__main__.py"))


def test_an_environment_that_cannot_be_made_is_removed_and_the_package_is_named(folder: Path) -> None:
    for _ in range(2):
        result = make(folder, WITHOUT_PIP, "setup")
        assert result.returncode != 0
        assert "ensurepip is not available" in result.stdout, "what Python says stays"
        assert "apt-get install python3-venv" in result.stderr
        assert not (folder / ".venv").exists()


def test_once_the_package_is_there_the_next_try_succeeds(folder: Path) -> None:
    make(folder, WITHOUT_PIP)
    assert make(folder, WITH_PIP).returncode == 0
    assert has_pip(folder)


def test_an_environment_without_pip_from_before_is_made_again(folder: Path) -> None:
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / PYTHON).symlink_to(sys.executable)
    result = make(folder, WITH_PIP)
    assert result.returncode == 0, result.stderr
    assert has_pip(folder)


@pytest.mark.parametrize("done", [".installed", "lib/python3.11/site-packages/pip/__main__.py"])
def test_any_other_environment_is_left_alone(folder: Path, done: str) -> None:
    """Also one without pip in which everything is installed, whoever made it."""
    (folder / ".venv" / done).parent.mkdir(parents=True)
    (folder / ".venv" / done).touch()
    (folder / ".venv" / "bin").mkdir(exist_ok=True)
    (folder / PYTHON).symlink_to(sys.executable)
    result = make(folder, "exit 1\n")
    assert result.returncode == 0, result.stderr
    assert (folder / ".venv" / done).exists()
    assert "Making" not in result.stdout
