"""Which interpreters `make test-pythons` finds, and what it concludes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pythons import candidates, interpreter, named_versions, verdicts

OURS = f"{sys.version_info.major}.{sys.version_info.minor}"


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_the_classifiers_name_the_versions() -> None:
    assert named_versions() == ["3.11", "3.12", "3.13", "3.14"]
    assert OURS in named_versions()


def test_it_looks_on_the_path_first_and_then_where_pyenv_and_uv_keep_theirs(tmp_path: Path) -> None:
    on_path = program(tmp_path / "bin" / "python3.12", "true")
    older = program(tmp_path / ".pyenv/versions/3.12.1/bin/python3.12", "true")
    newer = program(tmp_path / ".pyenv/versions/3.12.4/bin/python3.12", "true")
    program(tmp_path / ".pyenv/versions/3.13.0/bin/python3.13", "true")
    of_uv = program(tmp_path / ".local/share/uv/python/cpython-3.12.9-linux/bin/python3.12", "true")
    environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    assert list(candidates("3.12", environment)) == [on_path, newer, older, of_uv]
    assert list(candidates("3.12", {"PATH": "", "PYENV_ROOT": str(tmp_path / ".pyenv")})) == [newer, older]


def test_it_asks_uv_where_uv_is(tmp_path: Path) -> None:
    program(
        tmp_path / "bin" / "uv", 'test "$*" = "python find --no-project 3.12" && echo /somewhere/python3.12'
    )
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path), "PYENV_ROOT": ""}
    assert Path("/somewhere/python3.12") in candidates("3.12", environment)
    assert Path("/somewhere/python3.12") not in candidates("3.13", environment)


def test_it_takes_the_first_that_runs_and_has_the_version(tmp_path: Path) -> None:
    shim = program(tmp_path / "shim", "echo pyenv: command not found >&2; exit 127")
    other = program(tmp_path / "other", "exit 1")
    assert interpreter(OURS, [shim, other, Path(sys.executable)]) == Path(sys.executable)
    assert interpreter("3.99", [shim, Path(sys.executable)]) is None


def test_every_version_is_tested_that_is_found_and_the_others_are_named() -> None:
    found = {"3.11": Path("/a"), "3.13": Path("/c")}
    tested = []

    def test(version: str, python: Path) -> bool:
        tested.append((version, python))
        return version == "3.11"

    assert verdicts(["3.11", "3.12", "3.13"], found.get, test) == {
        "3.11": "passed",
        "3.12": "not found",
        "3.13": "failed",
    }
    assert tested == list(found.items())


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [(["3.99"], 2, "no version 3.99"), (["3.12"], 1, "Python 3.12: not found")],
)
def test_the_command_fails_for_an_unknown_version_and_if_it_finds_none(
    tmp_path: Path, arguments: list[str], status: int, said: str
) -> None:
    nothing = {**os.environ, "PATH": "", "HOME": str(tmp_path), "PYENV_ROOT": "", "UV_PYTHON_INSTALL_DIR": ""}
    run = subprocess.run(
        [sys.executable, "-m", "tests.pythons", *arguments],
        env=nothing,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == status
    assert said in run.stdout + run.stderr
