"""A tag is a version, a commit after it a version of what comes next, and a copy without git still builds."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

from tests.archives import unpack

ROOT = Path(__file__).parents[1]
PROJECTS = (ROOT / "pyproject.toml", ROOT / "client" / "pyproject.toml")
#: What decides on the version, and nothing else.
FILES = ("pyproject.toml", ".git_archival.txt", ".gitattributes", "client/pyproject.toml")
IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env=os.environ | IDENTITY, check=True, capture_output=True)


def commit(folder: Path, subject: str) -> None:
    git(folder, "commit", "--quiet", "--allow-empty", "--message", subject)


def settings(project: Path) -> dict[str, str]:
    found: dict[str, str] = tomllib.loads(project.read_text())["tool"]["setuptools_scm"]
    return found


def version(folder: Path, **variables: str) -> str:
    """Return the version that a build in a folder would give."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "setuptools_scm"],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a repository with one commit and no tag."""
    folder = tmp_path / "checkout"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", ".")
    commit(folder, "One")
    return folder


@pytest.fixture
def tagged(checkout: Path) -> Path:
    """Return one whose newest commit is released as 0.7.0."""
    git(checkout, "tag", "v0.7.0")
    return checkout


@pytest.mark.parametrize("project", [".", "client"])
def test_a_tag_is_the_version_and_a_commit_after_it_is_one_of_the_next(tagged: Path, project: str) -> None:
    assert version(tagged / project) == "0.7.0"
    commit(tagged, "Two")
    assert version(tagged / project) == "0.8.0.dev1"


def test_a_changed_checkout_of_a_tag_is_not_the_release(tagged: Path) -> None:
    with (tagged / "pyproject.toml").open("a") as file:
        file.write("\n")
    assert version(tagged) == "0.8.0.dev0"


def test_a_tag_that_is_no_version_does_not_matter(tagged: Path) -> None:
    commit(tagged, "Two")
    git(tagged, "tag", "deployed-1")
    assert version(tagged) == "0.8.0.dev1"


@pytest.mark.parametrize("project", [".", "client"])
def test_without_a_tag_the_version_is_the_one_that_comes_next(checkout: Path, project: str) -> None:
    commit(checkout, "Two")
    base = Version(settings(PROJECTS[0])["fallback_version"]).base_version
    assert version(checkout / project) == f"{base}.dev2"


def test_a_shallow_clone_builds(tagged: Path, tmp_path: Path) -> None:
    commit(tagged, "Two")
    git(tmp_path, "clone", "--quiet", "--depth", "1", tagged.as_uri(), "shallow")
    assert Version(version(tmp_path / "shallow")).is_devrelease


@pytest.mark.parametrize("project", [".", "client"])
def test_without_git_the_version_is_the_one_that_comes_next(checkout: Path, project: str) -> None:
    shutil.rmtree(checkout / ".git")
    assert version(checkout / project) == settings(PROJECTS[0])["fallback_version"]


def test_a_build_can_be_told_the_version(checkout: Path) -> None:
    """As the image is, which has no git."""
    shutil.rmtree(checkout / ".git")
    told = {"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_EDDY_STREAMS": "0.9.0"}
    assert version(checkout, **told) == "0.9.0"
    assert version(checkout, **dict.fromkeys(told, "")) == settings(PROJECTS[0])["fallback_version"]


@pytest.mark.parametrize(("commits_after", "expected"), [(0, "0.7.0"), (1, "0.8.0.dev1")])
def test_an_archive_of_git_knows_its_version(
    tagged: Path, tmp_path: Path, commits_after: int, expected: str
) -> None:
    for number in range(commits_after):
        commit(tagged, str(number))
    git(tagged, "archive", "--prefix", "archive/", "--output", str(tmp_path / "archive.tar"), "HEAD")
    with tarfile.open(tmp_path / "archive.tar") as archive:
        unpack(archive, tmp_path)
    assert version(tmp_path / "archive") == expected


def test_both_projects_take_the_version_from_the_same_tags() -> None:
    shared = [
        {
            name: settings(project)[name]
            for name in ("version_scheme", "local_scheme", "fallback_version", "tag")
        }
        for project in PROJECTS
    ]
    assert shared[0] == shared[1]
    assert (ROOT / "client" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_what_comes_next_is_later_than_what_was_released() -> None:
    released = re.findall(r"^## \[([0-9.]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    upcoming = Version(settings(PROJECTS[0])["fallback_version"])
    assert upcoming.is_devrelease
    assert upcoming > max(map(Version, released))


def test_the_chart_and_the_example_ask_for_the_image_of_the_newest_release() -> None:
    newest = re.findall(r"^## \[([0-9.]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    chart = yaml.safe_load((ROOT / "deploy" / "helm" / "eddy" / "Chart.yaml").read_text())
    assert (chart["version"], str(chart["appVersion"])) == (newest, newest)
    example = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "example" / "kustomization.yaml").read_text())
    assert [each["newTag"] for each in example["images"]] == [newest]
