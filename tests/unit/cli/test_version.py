"""`eddy --version` names the commit where there is one, and never fails for want of it."""

import os
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from streams.cli import version as tested
from streams.cli.version import commit_of, described


def committed(folder: Path) -> str:
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": "/dev/null"}
    identity |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    (folder / "file").write_text("one")
    for words in (["init", "-q"], ["add", "file"], ["commit", "-qm", "One"], ["tag", "v9.9"]):
        subprocess.run(["git", *words], cwd=folder, env={**os.environ, **identity}, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
    )
    return head.stdout[:12]


def test_a_checkout_names_its_commit_and_says_if_files_differ(tmp_path: Path) -> None:
    head = committed(tmp_path)
    assert commit_of(tmp_path) == head
    (tmp_path / "file").write_text("two")
    assert commit_of(tmp_path) == f"{head}-dirty"


def test_what_is_no_checkout_names_none(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == ""
    (tmp_path / ".git").mkdir()  # looks like one, and is none
    assert commit_of(tmp_path) == ""


def test_without_git_the_version_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed(tmp_path)
    monkeypatch.setattr(tested, "_CHECKOUT", tmp_path)
    monkeypatch.setattr(tested, "_WRITTEN", tmp_path / "commit.txt")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert described() == version("eddy-streams")


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("g0123456789abcdef0123456789abcdef01234567", " (commit 0123456789ab)"),
        ("g0123456789abcdef0123456789abcdef01234567 0", " (commit 0123456789ab)"),
        ("g0123456789abcdef0123456789abcdef01234567 1", " (commit 0123456789ab-dirty)"),
        ("g0123456", " (commit 0123456)"),
        ("g", ""),  # an image that was built without saying
        ("None 0", ""),  # a wheel that was built without git
    ],
)
def test_a_wheel_names_the_commit_that_its_build_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, named: str
) -> None:
    monkeypatch.setattr(tested, "_CHECKOUT", tmp_path)
    (file := tmp_path / "commit.txt").write_text(written)
    monkeypatch.setattr(tested, "_WRITTEN", file)
    assert described() == version("eddy-streams") + named
