"""The distributions, built from this tree under a tag of its own, and each installed by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.pages import ROOT

VERSION: Final = "98.7.6"
_IDENTITY: Final = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "SOURCE_DATE_EPOCH": "1764374400",  # as `make dist` takes the time of the commit
}


def run(*words: str | Path, cwd: Path) -> str:
    """Run a program outside of this tree, and return what it printed.

    Raises:
        AssertionError: it failed.
    """
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [*map(str, words)], cwd=cwd, env=kept | _IDENTITY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of this tree as one commit with a tag, whatever is committed here."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines():
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    run("git", "init", "--quiet", cwd=folder)
    run("git", "add", ".", cwd=folder)
    run("git", "commit", "--quiet", "--message", "Release", cwd=folder)
    run("git", "tag", f"v{VERSION}", cwd=folder)
    return folder


@pytest.fixture(scope="session")
def dist(checkout: Path) -> Path:
    """Return the folder with the sdists, and the wheels that were built from these."""
    run(sys.executable, "-m", "deploy.man.pages", "man", cwd=checkout)
    for project in (".", "client"):
        run(sys.executable, "-m", "build", "--outdir", checkout / "dist", project, cwd=checkout)
    return checkout / "dist"


def environment(folder: Path, wheel: Path, *options: str, extra: str = "") -> Path:
    """Install a wheel into an environment of its own, and return the folder of its programs."""
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    install = (folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(*install, *options, f"{wheel}{extra}", cwd=folder.parent)
    return folder / "bin"


@pytest.fixture(scope="session")
def eddy(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs of Eddy, at the versions that are tested."""
    (wheel,) = dist.glob("eddy_streams-*.whl")
    (client,) = dist.glob("eddy_client-*.whl")
    beside = (str(client), "-c", str(ROOT / "constraints" / "demo.txt"))
    return environment(tmp_path_factory.mktemp("eddy") / "venv", wheel, *beside, extra="[demo]")


@pytest.fixture(scope="session")
def client(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs of eddy-client, which needs nothing but Python."""
    (wheel,) = dist.glob("eddy_client-*.whl")
    return environment(tmp_path_factory.mktemp("client") / "venv", wheel, "--no-index")
